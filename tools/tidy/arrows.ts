import type { Import, SourceFile, Tree, Violation } from './tree.ts'

const CONTRACT_PACKAGES = ['zod', 'zod/mini']
const SQL_PACKAGES = ['kysely', 'pg', 'better-sqlite3']
const SQL_TEXT =
  /\b(SELECT\s[^]*\sFROM\s|INSERT\s+INTO\s|DELETE\s+FROM\s|UPDATE\s+\w+\s+SET\s|CREATE\s+(TABLE|INDEX)\s)/

/** It knows every noun, so no noun may know it. */
const RELAY = 'src/server/relay/'
/** Puts the parts together. */
const SERVER_TOP = 'src/server/server.ts'

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
  if (from.startsWith('src/server/') && target.startsWith(RELAY)) {
    const mayKnow = file.isTest || from.startsWith(RELAY) || from === SERVER_TOP
    return mayKnow
      ? null
      : 'nothing but server.ts imports the relay; what both need lies beside it.'
  }
  return null
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
  const found: Violation[] = imports
    .filter((to) => SQL_PACKAGES.includes(to.specifier) && !to.isType)
    .map(({ specifier, line }) => ({
      rule: 'sql',
      path,
      line,
      message: `"${specifier}": SQL is written in *-store.ts only; add an operation to the store.`,
    }))
  const sql = SQL_TEXT.exec(withoutComments(file))
  if (sql) {
    const message = 'SQL is written in *-store.ts only; add an operation to the store.'
    found.push({ rule: 'sql', path, line: file.lineOf(text.indexOf(sql[0])), message })
  }
  return found
}

/** The stores, the database layer, and the ledger's storage, which is all of it but story and price. */
const SQL_FILES = [
  /^src\/server\/.*-store\.ts$/,
  /^src\/server\/db\//,
  /^src\/server\/ledger\/(?!(ledger|price)\.ts$)/,
]

/** Comments become blanks, so that offsets stay. */
function withoutComments({ text, comments }: SourceFile): string {
  let code = text
  for (const { start, end } of comments) {
    code = code.slice(0, start) + ' '.repeat(end - start) + code.slice(end)
  }
  return code
}
