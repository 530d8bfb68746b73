/** Prints a warning for each unusually large file, function and folder. */
import { join } from 'node:path'
import { oversizes } from './tidy/sizes.ts'
import { readTree } from './tidy/tree.ts'

for (const { path, line, message } of oversizes(readTree(join(import.meta.dirname, '..')))) {
  console.warn(`warning: ${path}${line ? `:${line}` : ''} ${message}`)
}
