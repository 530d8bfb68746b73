import type { ESTree } from 'vite'
import { walk } from './tree.ts'
import type { SourceFile, Tree, Violation } from './tree.ts'

/** The only files that may ask for the time or for chance; everybody else is handed them. */
const SOURCES_OF_TIME = /^src\/server\/(.*\/)?clock\.ts$/
/** The only files that read the environment. */
const READERS_OF_ENVIRONMENT = ['src/server/config.ts', 'src/server/gatehouse.js']

/** Packages and folders with an effect on the world. */
const EFFECTS =
  /^(kysely|pg|better-sqlite3|undici|fastify|nodemailer|node:(fs|net|http|https|dns|child_process|worker_threads|timers)(\/.*)?)$/
const EFFECT_FILES = /-(store|routes)\.ts$|^src\/server\/(db|http)\//

/** Hidden inputs: the clock, chance, the network and the environment, where they do not belong. */
export function impurities(tree: Tree): Violation[] {
  return [...tree.values()]
    .filter((file) => !file.isTest && isServerOrContract(file.path))
    .flatMap((file) => [...hiddenInputs(file), ...effectsOfRules(file)])
}

function isServerOrContract(path: string): boolean {
  return path.startsWith('src/server/') || path.startsWith('src/contract/')
}

function hiddenInputs(file: SourceFile): Violation[] {
  const { path } = file
  const found: Violation[] = []
  walk(file.program, (node) => {
    const name = hiddenInput(node)
    const message = name && objection(path, name)
    if (message) found.push({ rule: 'purity', path, line: file.lineOf(node.start), message })
  })
  return found
}

function objection(path: string, name: string): string | null {
  switch (name) {
    case 'process.env':
      return READERS_OF_ENVIRONMENT.includes(path)
        ? null
        : 'process.env is read by config.ts once; take the value from the configuration.'
    case 'globalThis.fetch':
      return "no fetch; use the relay's sender or the egress module, which pin addresses."
    default:
      return SOURCES_OF_TIME.test(path)
        ? null
        : `${name}: clock and randomness are passed in, so that tests decide them.`
  }
}

function hiddenInput(node: ESTree.Node): string | null {
  if (node.type === 'NewExpression') {
    const isNow =
      node.callee.type === 'Identifier' &&
      node.callee.name === 'Date' &&
      node.arguments.length === 0
    return isNow ? 'new Date()' : null
  }
  if (node.type !== 'MemberExpression' || node.object.type !== 'Identifier') return null
  if (node.property.type !== 'Identifier') return null
  const name = `${node.object.name}.${node.property.name}`
  return ['Date.now', 'Math.random', 'process.env', 'globalThis.fetch'].includes(name) ? name : null
}

/** Rules are the contract and the file named after its folder's noun: token/token.ts. */
function effectsOfRules({ path, imports }: SourceFile): Violation[] {
  const isRules =
    /^src\/server\/([a-z-]+)\/\1\.ts$/.test(path) || path === 'src/server/ledger/price.ts'
  if (!isRules || /^src\/server\/(relay|ledger)\/(relay|ledger)\.ts$/.test(path)) return []
  return imports
    .filter((to) => !to.isType)
    .filter(({ specifier, target }) =>
      target ? EFFECT_FILES.test(target) : EFFECTS.test(specifier),
    )
    .map(({ specifier, line }) => ({
      rule: 'purity',
      path,
      line,
      message: `"${specifier}": rules are pure; do this in the store or the routes and pass the result.`,
    }))
}
