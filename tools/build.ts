/**
 * `npm run build`, also run by `npm start`, `npm test` and `npm pack`: builds the console into
 * `dist/console` and the server into `dist/server`, unless the last build had the same sources.
 */
import { createHash } from 'node:crypto'
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { uniteThirdParty } from './third-party.ts'

interface Part {
  name: 'console' | 'server'
  /** A project without this file does not have the part. */
  entry: string
  /** Glob patterns of the sources. */
  sources: readonly string[]
  /** A file that exists after every successful build. */
  output: string
  build(root: string): Promise<void>
}

const SHARED_SOURCES = [
  'src/contract/**/*.ts',
  'tools/{build,build-server,third-party}.ts',
  'package.json',
  'package-lock.json',
]

// The bundlers take half a second to load, so they are imported only for a build.
const PARTS: readonly Part[] = [
  {
    name: 'console',
    entry: 'vite.config.ts',
    sources: [
      'src/console/**/*',
      'public/**/*',
      'index.html',
      'vite.config.ts',
      'tools/page-parts.ts',
      ...SHARED_SOURCES,
    ],
    output: 'dist/console/index.html',
    build: async (root) => {
      const { build } = await import('vite')
      await build({ root, logLevel: 'warn' })
    },
  },
  {
    name: 'server',
    entry: 'src/server/gatehouse.js',
    sources: ['src/server/**/*', ...SHARED_SOURCES],
    output: 'dist/server/gatehouse.js',
    build: async (root) => {
      const { buildServer } = await import('./build-server.ts')
      await buildServer(root)
    },
  },
]

/** Builds the missing and stale parts of the project at `root`, and returns their names. */
export async function buildIfStale(root: string): Promise<Part['name'][]> {
  const built: Part['name'][] = []
  for (const part of PARTS) {
    if (!existsSync(join(root, part.entry))) continue
    const record = join(root, `dist/${part.name}.digest`)
    const digest = sourcesDigest(root, part)
    if (existsSync(join(root, part.output)) && read(record) === digest) continue
    console.error(`building the ${part.name} …`)
    // Removed first, so that an aborted build leaves no record.
    rmSync(record, { force: true })
    await part.build(root)
    mkdirSync(join(root, 'dist'), { recursive: true })
    writeFileSync(record, digest)
    built.push(part.name)
  }
  if (built.length > 0) uniteThirdParty(root)
  return built
}

function sourcesDigest(root: string, { sources }: Part): string {
  const digest = createHash('sha256')
  const settings = Object.entries(process.env).filter(([name]) => name.startsWith('VITE_'))
  digest.update(JSON.stringify(settings.toSorted()))
  const paths = globSync(sources, { cwd: root, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.test\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
  for (const path of paths.toSorted()) {
    digest.update(`${path}\0`).update(readFileSync(path)).update('\0')
  }
  return digest.digest('hex')
}

const read = (file: string): string | null => (existsSync(file) ? readFileSync(file, 'utf8') : null)

if (import.meta.main) {
  await buildIfStale(resolve(import.meta.dirname, '..')).catch((error: unknown) => {
    console.error('The build failed.', error instanceof Error ? error.message : error)
    process.exitCode = 1
  })
}
