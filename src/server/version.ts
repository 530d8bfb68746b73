import fs from 'node:fs'
import { z } from 'zod'

const Manifest = z.object({ version: z.string() })
let version: string | undefined

/** Returns the version in package.json. */
export function packageVersion(): string {
  version ??= Manifest.parse(
    JSON.parse(fs.readFileSync(new URL('../../package.json', import.meta.url), 'utf8')),
  ).version
  return version
}
