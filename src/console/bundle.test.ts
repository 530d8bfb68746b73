import { gzipSync } from 'node:zlib'
import { join } from 'node:path'
import { build, parseAst, type ESTree, type Rolldown } from 'vite'
import { beforeAll, expect, test } from 'vitest'

const SIGN_IN_BYTES_MAX = 160_000
const PAGE_BYTES_MAX = 200_000
/** Size of the page itself, the logo and a few response headers. */
const PAGE_OVERHEAD_BYTES = 6000

const files = new Map<string, Rolldown.OutputChunk | Rolldown.OutputAsset>()

beforeAll(async () => {
  const built = await build({
    root: join(import.meta.dirname, '../..'),
    logLevel: 'silent',
    build: { write: false },
  })
  // Without watching there is a single output.
  const { output } = built as Rolldown.RolldownOutput
  for (const file of output) files.set(file.fileName, file)
})

/** File names of a chunk, its static imports, and their styles. */
function loadedWith(name: string, found = new Set<string>()): Set<string> {
  const file = files.get(name)
  if (found.has(name) || file === undefined) return found
  found.add(name)
  if (file.type === 'asset') return found
  for (const imported of file.imports) loadedWith(imported, found)
  for (const style of file.viteMetadata?.importedCss ?? []) loadedWith(style, found)
  return found
}

function bytesOf(names: Iterable<string>): number {
  return [...names].reduce((sum, name) => {
    const file = files.get(name)
    if (file === undefined) return sum
    return sum + gzipSync(file.type === 'chunk' ? file.code : file.source).length
  }, 0)
}

function chunkOf(source: string): string {
  const chunk = [...files.values()].find(
    (file) => file.type === 'chunk' && (file.facadeModuleId ?? '').endsWith(source),
  )
  if (chunk === undefined) throw new Error(`nothing was built from ${source}`)
  return chunk.fileName
}

/** Files that the page itself references. */
function start(): Set<string> {
  const page = files.get('index.html')
  const html = page?.type === 'asset' ? String(page.source) : ''
  const found = new Set<string>()
  for (const [, name = ''] of html.matchAll(/\.\/(assets\/[^"]+)/g)) loadedWith(name, found)
  return found
}

/** Statements of a file that execute on load, rather than import, export or declare. */
const executedStatements = (code: string): string[] =>
  parseAst(code)
    .body.filter((statement) => {
      if (statement.type !== 'VariableDeclaration') return !DECLARES.has(statement.type)
      return statement.declarations.some(({ init }) => init !== null && !isDeferred(init))
    })
    .map((statement) => code.slice(statement.start, statement.end))

const DECLARES = new Set(['ImportDeclaration', 'ExportNamedDeclaration', 'FunctionDeclaration'])

/** A function, or a call with a function that runs later. */
const isDeferred = (init: ESTree.Expression): boolean =>
  init.type === 'ArrowFunctionExpression' ||
  (init.type === 'CallExpression' && init.arguments[0]?.type === 'ArrowFunctionExpression')

// Otherwise widgets in one file could be created before those that they need in another: a blank
// page.
test('files with circular imports execute nothing before all are loaded', () => {
  const chunks = [...files.values()].filter((file) => file.type === 'chunk')
  const waiting = chunks.filter(({ fileName, imports }) =>
    imports.some((imported) => loadedWith(imported).has(fileName)),
  )
  expect(waiting.flatMap(({ code }) => executedStatements(code))).toEqual([])
})

test('the sign-in page loads few bytes before it is usable', () => {
  const loaded = loadedWith(chunkOf('/login-page.tsx'), start())
  expect(bytesOf(loaded) + PAGE_OVERHEAD_BYTES).toBeLessThan(SIGN_IN_BYTES_MAX)
})

test('no page exceeds its size budget', () => {
  const isThere = start()
  const frame = ['/queries.tsx', '/signed-in-bar.tsx'].map(chunkOf)
  const pages = [...files.values()].filter(
    (file) => file.type === 'chunk' && (file.facadeModuleId ?? '').endsWith('-page.tsx'),
  )
  const weights = pages.map(({ fileName }) => {
    const loaded = new Set<string>()
    for (const name of [...frame, fileName]) loadedWith(name, loaded)
    return { fileName, bytes: bytesOf([...loaded].filter((name) => !isThere.has(name))) }
  })
  expect(weights.length).toBeGreaterThan(0)
  expect(weights.filter(({ bytes }) => bytes > PAGE_BYTES_MAX)).toEqual([])
})
