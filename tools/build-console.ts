import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { glob, mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { build, resolveConfig } from 'vite'

/** All that the built console is made of. */
const SOURCES = [
  'src/console/**/*',
  'src/contract/**/*.ts',
  'public/**/*',
  'index.html',
  'vite.config.ts',
  'package.json',
  'package-lock.json',
]

/** Outside the output, which Vite empties and the server serves. */
const RECORD = 'node_modules/.cache/gatehouse/console-build'

/**
 * Builds the console of the project at `root`, unless the last build was made from the same sources
 * by their contents. Without a `vite.config.ts` there is nothing to build. Throws when the build
 * fails.
 */
export async function buildConsoleIfStale(root: string): Promise<'built' | 'fresh' | 'none'> {
  if (!existsSync(join(root, 'vite.config.ts'))) return 'none'
  const config = await resolveConfig({ root, logLevel: 'warn' }, 'build')
  const outputIsThere = existsSync(resolve(config.root, config.build.outDir, 'index.html'))
  const record = join(root, RECORD)
  const sources = await sourcesDigest(root)
  if (outputIsThere && existsSync(record) && (await readFile(record, 'utf8')) === sources) {
    return 'fresh'
  }
  await build({ root, logLevel: 'warn' })
  await mkdir(dirname(record), { recursive: true })
  await writeFile(record, sources)
  return 'built'
}

async function sourcesDigest(root: string): Promise<string> {
  const digest = createHash('sha256')
  const settings = Object.entries(process.env).filter(([name]) => name.startsWith('VITE_'))
  digest.update(JSON.stringify(settings.toSorted()))
  const paths = await Array.fromAsync(glob(SOURCES, { cwd: root, withFileTypes: true }), (entry) =>
    entry.isFile() ? join(entry.parentPath, entry.name) : null,
  )
  for (const path of paths.filter((file) => file !== null).toSorted()) {
    digest
      .update(`${path}\0`)
      .update(await readFile(path))
      .update('\0')
  }
  return digest.digest('hex')
}

if (import.meta.main) await buildConsoleIfStale(resolve(import.meta.dirname, '..'))
