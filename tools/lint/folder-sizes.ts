/** Prints a warning for each folder with more files than usual; lint does so for long files. */
import { globSync } from 'node:fs'
import { dirname } from 'node:path'

const FILES_MAX = 25

const files = globSync('{src,tools,bench,e2e}/**/*.{ts,tsx}').filter(
  (path) => !/node_modules|\.(test|e2e)\.tsx?$|\/test\//.test(path),
)
for (const [folder, { length }] of Map.groupBy(files, dirname)) {
  if (length <= FILES_MAX) continue
  console.warn(`warning: ${folder}: ${length} files; more than ${FILES_MAX}. Consider grouping.`)
}
