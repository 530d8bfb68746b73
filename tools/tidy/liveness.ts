import { walk } from './tree.ts'
import type { Export, SourceFile, Tree, Violation } from './tree.ts'

/** Where programs begin: nobody imports these. */
const ENTRY_POINTS = ['src/server/gatehouse.js', 'src/console/main.tsx']

/** What the configurations of vite and vitest take, which are not read here. */
const CONFIGURED = ['tools/longest-first.ts', 'tools/page-parts.ts', 'tools/test-setup.ts']

/** Files that no program reaches, exports nobody takes, error codes nobody raises. */
export function deadCode(tree: Tree): Violation[] {
  return [...deadFiles(tree), ...unusedExports(tree), ...unusedErrors(tree)]
}

function deadFiles(tree: Tree): Violation[] {
  const missing = ENTRY_POINTS.filter((path) => !tree.has(path))
  if (missing.length > 0) {
    const message = 'this entry point is missing; correct ENTRY_POINTS in tools/tidy/liveness.ts.'
    return missing.map((path) => ({ rule: 'dead-file', path, message }))
  }
  const fromPrograms = reachable(tree, ENTRY_POINTS)
  const tests = [...tree.values()].filter((file) => /\.(test|e2e)\.tsx?$/.test(file.path))
  const fromTests = reachable(
    tree,
    tests.map((file) => file.path),
  )
  return [...tree.values()]
    .filter(({ path }) => path.startsWith('src/') && !/\.(test|d)\.tsx?$/.test(path))
    .filter(({ path, isTest }) => !(isTest ? fromTests : fromPrograms).has(path))
    .map(({ path }) => ({
      rule: 'dead-file',
      path,
      message: fromTests.has(path)
        ? 'only tests reach this file; use it or delete it.'
        : 'nothing reaches this file; use it or delete it.',
    }))
}

function reachable(tree: Tree, roots: readonly string[]): Set<string> {
  const found = new Set<string>()
  const waiting = [...roots]
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (found.has(path)) continue
    found.add(path)
    for (const { target } of tree.get(path)?.imports ?? []) {
      if (target && tree.has(target)) waiting.push(target)
    }
  }
  return found
}

/**
 * What only tests take counts as used if its own file uses it too. A type that its own file uses
 * may be exported for those who want to name it.
 */
function unusedExports(tree: Tree): Violation[] {
  const taken = { byProgram: new Set<string>(), byTest: new Set<string>() }
  for (const file of tree.values()) {
    for (const { target, names } of file.imports) {
      if (!target) continue
      const set = file.isTest ? taken.byTest : taken.byProgram
      for (const name of names ?? ['*']) set.add(`${target} ${name}`)
    }
  }
  const isTaken = (set: Set<string>, path: string, name: string) =>
    set.has(`${path} ${name}`) || set.has(`${path} *`)

  return [...tree.values()]
    .filter(({ path, exports }) => exports.length > 0 && !CONFIGURED.includes(path))
    .flatMap((file) => {
      const { path, isTest } = file
      const mentions = mentionsIn(file)
      const isUsed = ({ name, isType }: Export) => {
        if (isTaken(taken.byProgram, path, name)) return true
        const isUsedHere = (mentions.get(name) ?? 0) > 1
        if (isTaken(taken.byTest, path, name)) {
          return isTest || isUsedHere || !path.startsWith('src/')
        }
        return isType && isUsedHere
      }
      return file.exports
        .filter((item) => !isUsed(item))
        .map(({ name, line }) => ({
          rule: 'unused-export',
          path,
          line,
          message: `nobody imports ${name}; use it, delete it, or remove "export".`,
        }))
    })
}

function mentionsIn({ program }: SourceFile): Map<string, number> {
  const mentions = new Map<string, number>()
  walk(program, (node) => {
    if (node.type !== 'Identifier' && node.type !== 'JSXIdentifier') return
    mentions.set(node.name, (mentions.get(node.name) ?? 0) + 1)
  })
  return mentions
}

/** Where the sentences of refusals stand: one table an area. */
const ERROR_TABLE = /^src\/contract\/[\w-]+-errors\.ts$/

function unusedErrors(tree: Tree): Violation[] {
  const isTable = (path: string) => ERROR_TABLE.test(path)
  const said = new Set<string>()
  for (const { path, isTest, program } of tree.values()) {
    if (isTable(path) || isTest || !path.startsWith('src/')) continue
    walk(program, (node) => {
      if (node.type === 'Literal' && typeof node.value === 'string') said.add(node.value)
      if (node.type === 'Identifier') said.add(node.name)
    })
  }
  return [...tree.values()]
    .filter(({ path }) => isTable(path))
    .flatMap((table) => errorCodes(table).map((item) => ({ ...item, path: table.path })))
    .filter(({ code }) => !said.has(code))
    .map(({ code, line, path }) => ({
      rule: 'unused-error',
      path,
      line,
      message: `nothing refuses with ${code}; delete it or use it.`,
    }))
}

/** The keys of `export const tokenErrors = { … }`. */
function errorCodes(table: SourceFile): { code: string; line: number }[] {
  const codes: { code: string; line: number }[] = []
  walk(table.program, (node, parents) => {
    if (node.type !== 'Property' || node.key.type !== 'Identifier') return
    const isTop = parents.filter((parent) => parent.type === 'ObjectExpression').length === 1
    if (isTop) codes.push({ code: node.key.name, line: table.lineOf(node.start) })
  })
  return codes
}
