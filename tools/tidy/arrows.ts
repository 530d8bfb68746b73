import type { ESTree } from 'vite'
import { walk } from './tree.ts'
import type { Import, SourceFile, Tree, Violation } from './tree.ts'

const CONTRACT_PACKAGES = ['zod', 'zod/mini']
const SQL_PACKAGES = ['kysely', 'pg', 'better-sqlite3']
const SQL_TEXT =
  /\b(SELECT\s[^]*\sFROM\s|INSERT\s+INTO\s|DELETE\s+FROM\s|UPDATE\s+\w+\s+SET\s|CREATE\s+(TABLE|INDEX)\s)/

/** How the query builder begins a statement, which needs no import. */
const SQL_CALLS = /^(selectFrom|insertInto|replaceInto|mergeInto|updateTable|deleteFrom)$/

/** It knows every noun, so no noun may know it. */
const RELAY = 'src/server/relay/'
/** The declarations of vendors, of which the whole server reads its part. */
const VENDORS = 'src/server/relay/vendors/'
/** Folders of the relay from the bottom up: none imports one that stands behind it. */
const RELAY_FOLDERS: readonly string[] = [
  'json',
  'transport',
  'canonical',
  'dialect',
  'gemini',
  'openai',
  'anthropic',
  'count',
  'embedding',
  'audio',
  'images',
  'rerank',
  'providers',
  'vendors',
  'errors',
  'routing',
  'record',
  'gathering',
  'responses',
  'conversion',
  'media',
  'surfaces',
  'call',
  'other-calls',
  'forecast',
]
/** Puts the parts together. */
const SERVER_TOP = 'src/server/server.ts'
/** What the lowest layer may know: itself, and the ledger's batches, which it runs. */
const BELOW_DB = /^src\/server\/(db\/|ledger\/(batch\/|operations\.ts$)|slots\.ts$)/

/** Folders of the console that any of its pages may use. */
const CONSOLE_SHARED = ['app', 'ui']
/** They know all pages, so no page may know them. */
const CONSOLE_TOP = /^src\/console\/(main|routes)\.tsx$/

/** Imports that point the wrong way, and SQL outside the stores. */
export function wrongArrows(tree: Tree): Violation[] {
  return [...tree.values()].flatMap((file) => [
    ...file.imports.flatMap((to) => {
      const message = wrongArrow(file, to)
      return message ? [{ rule: 'import', path: file.path, line: to.line, message }] : []
    }),
    ...strayBarrel(file),
    ...straySql(file),
  ])
}

function wrongArrow(file: SourceFile, to: Import): string | null {
  const from = file.path
  const target = to.target ?? ''
  if (from.startsWith('src/') && !file.isTest) {
    if (/^(tools|bench|e2e)\//.test(target)) return 'the product does not import its tools.'
    if (/\/test\/|\.test\.tsx?$/.test(target)) return 'the product does not import its tests.'
  }
  if (from.startsWith('src/contract/')) return wrongContractArrow(file, to)
  if (from.startsWith('src/server/') && target.startsWith('src/console/')) {
    return 'the server never imports the console; what both need belongs in src/contract.'
  }
  if (from.startsWith('src/console/')) return wrongConsoleArrow(from, target)
  return file.isTest ? null : wrongServerArrow(from, target)
}

function wrongServerArrow(from: string, target: string): string | null {
  if (!from.startsWith('src/server/') || from === SERVER_TOP) return null
  if (target.startsWith(RELAY) && !target.startsWith(VENDORS) && !from.startsWith(RELAY)) {
    return 'nothing but server.ts imports the relay; what both need lies beside it.'
  }
  if (layerOf(from) < layerOf(target)) {
    return 'the folder is below that one in RELAY_FOLDERS (tools/tidy/arrows.ts); pass it in.'
  }
  if (target.endsWith('-routes.ts') && !from.endsWith('-routes.ts')) {
    return 'only server.ts and other routes import routes; put what both need in a file of its own.'
  }
  if (from.startsWith('src/server/db/') && target.startsWith('src/server/')) {
    return BELOW_DB.test(target) ? null : 'db/ is below everything else; pass it in.'
  }
  return null
}

/** How far up a file of the relay stands; NaN for files in no folder of it. */
function layerOf(path: string): number {
  const [folder = ''] = path.startsWith(RELAY) ? path.slice(RELAY.length).split('/') : []
  const layer = RELAY_FOLDERS.indexOf(folder)
  return layer === -1 ? Number.NaN : layer
}

function wrongContractArrow({ isTest }: SourceFile, { specifier, target }: Import): string | null {
  const isOurs = target?.startsWith('src/contract/') ?? CONTRACT_PACKAGES.includes(specifier)
  if (isOurs) return null
  if (isTest && !/^src\/(server|console)\//.test(target ?? '')) return null
  return `"${specifier}": the contract imports zod and the contract, nothing else.`
}

function wrongConsoleArrow(from: string, target: string): string | null {
  if (target.startsWith('src/server/')) {
    return 'the console never imports the server; what both need belongs in src/contract.'
  }
  if (!target.startsWith('src/console/')) return null
  const source = consoleFolder(from)
  const destination = consoleFolder(target)
  if (source === null || source === destination) return null
  if (CONSOLE_TOP.test(target)) return 'pages do not import the top; links come from paths.ts.'
  if (source === 'ui') return 'ui/ knows nothing of ours; pass it in as a property.'
  if (destination === null || CONSOLE_SHARED.includes(destination)) return null
  if (source === 'app')
    return `app/ does not import pages (${destination}/); routes.tsx joins them.`
  return `${source}/ does not import ${destination}/; what both need belongs in app/ or ui/.`
}

/** The folder under src/console, or null for a file directly in it. */
function consoleFolder(path: string): string | null {
  const parts = path.split('/').slice(2)
  return parts.length > 1 ? (parts[0] ?? null) : null
}

function strayBarrel({ path, isBarrel, imports }: SourceFile): Violation[] {
  const all = imports.find((to) => to.kind === 'export' && to.names === null)
  if (path === 'src/contract/api.ts' || (!isBarrel && !all)) return []
  const message = 'no barrels; import each name from the file that declares it.'
  return [{ rule: 'barrel', path, line: all?.line ?? 1, message }]
}

function straySql(file: SourceFile): Violation[] {
  const { path, isTest, text, imports } = file
  if (!path.startsWith('src/') || isTest || SQL_FILES.some((files) => files.test(path))) return []
  const message = 'SQL is written in *-store.ts only; add an operation to the store.'
  const found: Violation[] = imports
    .filter((to) => SQL_PACKAGES.includes(to.specifier) && !to.isType)
    .map(({ specifier, line }) => ({
      rule: 'sql',
      path,
      line,
      message: `"${specifier}": ${message}`,
    }))
  const sql = SQL_TEXT.exec(withoutComments(file))
  if (sql) found.push({ rule: 'sql', path, line: file.lineOf(text.indexOf(sql[0])), message })
  walk(file.program, (node) => {
    if (node.type !== 'CallExpression' || !SQL_CALLS.test(calledName(node))) return
    found.push({ rule: 'sql', path, line: file.lineOf(node.start), message })
  })
  return found
}

/** `selectFrom` of `db.selectFrom(…)`; empty for what has no name. */
function calledName({ callee }: ESTree.CallExpression): string {
  if (callee.type === 'Identifier') return callee.name
  if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return ''
  return callee.property.name
}

/** The stores, the database layer, and the ledger's storage: all of it but story and price. */
const SQL_FILES = [
  /^src\/server\/.*-store\.ts$/,
  /^src\/server\/db\//,
  /^src\/server\/ledger\/(?!(ledger|operations|price)\.ts$|price\/)/,
]

/** Comments become blanks, so that offsets stay. */
function withoutComments({ text, comments }: SourceFile): string {
  let code = text
  for (const { start, end } of comments) {
    code = code.slice(0, start) + ' '.repeat(end - start) + code.slice(end)
  }
  return code
}
