import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path/posix'
import { parseSync } from 'vite'
import type { ESTree } from 'vite'

/** One thing that is wrong: where, which rule, and what to do about it. */
export interface Violation {
  rule: string
  path: string
  /** Counted from 1. */
  line?: number
  message: string
}

export interface Import {
  /** As written: `./token.ts`, `zod`. */
  specifier: string
  /** Path in the tree for a relative specifier, whether or not such a file exists. */
  target: string | null
  /** `dynamic` is `import(…)`; `path` is a file named in any other string, such as a worker's. */
  kind: 'static' | 'export' | 'dynamic' | 'path'
  /** Erased before the program runs. */
  isType: boolean
  /** What is taken, by its name in the other file; `null` stands for everything. */
  names: readonly string[] | null
  line: number
}

export interface Export {
  name: string
  isType: boolean
  line: number
}

export interface SourceFile {
  /** From the root, with `/`: `src/server/token/token.ts`. */
  path: string
  text: string
  isTest: boolean
  program: ESTree.Program
  comments: readonly { value: string; start: number; end: number }[]
  imports: readonly Import[]
  exports: readonly Export[]
  /** Contains nothing but `export … from` and imports. */
  isBarrel: boolean
  /** Line of a character offset, counted from 1. */
  lineOf(offset: number): number
}

export type Tree = ReadonlyMap<string, SourceFile>

const PATTERN = '{src,tools,bench,e2e}/**/*.{ts,tsx,js}'

/** Every program file of the project at `root`. Throws on one that does not parse. */
export function readTree(root: string): Tree {
  const paths = globSync(PATTERN, { cwd: root }).map((path) => path.replaceAll('\\', '/'))
  return treeOf(
    Object.fromEntries(
      paths
        .filter((path) => !path.includes('node_modules/'))
        .toSorted()
        .map((path) => [path, readFileSync(join(root, path), 'utf8')]),
    ),
  )
}

/** The tree of the given texts by path. */
export function treeOf(texts: Readonly<Record<string, string>>): Tree {
  return new Map(Object.entries(texts).map(([path, text]) => [path, parse(path, text)]))
}

/** Calls `enter` for every node, outer before inner, with the nodes around it, nearest last. */
export function walk(
  node: ESTree.Node,
  enter: (node: ESTree.Node, parents: readonly ESTree.Node[]) => void,
  parents: ESTree.Node[] = [],
): void {
  enter(node, parents)
  parents.push(node)
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (isNode(child)) walk(child, enter, parents)
    }
  }
  parents.pop()
}

function isNode(value: unknown): value is ESTree.Node {
  return (
    typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
  )
}

function parse(path: string, text: string): SourceFile {
  const { program, module, comments, errors } = parseSync(path, text)
  const [error] = errors
  if (error) throw new Error(`${path} does not parse: ${error.message}`)

  const lineStarts = [0, ...[...text.matchAll(/\n/g)].map((match) => match.index + 1)]
  const lineOf = (offset: number) => {
    const next = lineStarts.findIndex((start) => start > offset)
    return next === -1 ? lineStarts.length : next
  }
  const target = (specifier: string) =>
    specifier.startsWith('.') ? normalize(join(dirname(path), specifier)) : null

  const imports: Import[] = []
  for (const { moduleRequest, entries, start } of module.staticImports) {
    imports.push({
      specifier: moduleRequest.value,
      target: target(moduleRequest.value),
      kind: 'static',
      isType: entries.length > 0 && entries.every((entry) => entry.isType),
      names: entries.some((entry) => entry.importName.kind === 'NamespaceObject')
        ? null
        : entries.map((entry) => entry.importName.name ?? 'default'),
      line: lineOf(start),
    })
  }
  const exports: Export[] = []
  for (const entry of module.staticExports.flatMap((statement) => statement.entries)) {
    const { moduleRequest, exportName, importName, isType } = entry
    const line = lineOf(entry.start)
    if (exportName.kind !== 'None')
      exports.push({ name: exportName.name ?? 'default', isType, line })
    if (!moduleRequest) continue
    imports.push({
      specifier: moduleRequest.value,
      target: target(moduleRequest.value),
      kind: 'export',
      isType,
      names: importName.kind === 'Name' && importName.name ? [importName.name] : null,
      line,
    })
  }
  imports.push(...namedFiles(program, { target, lineOf }))

  return {
    path,
    text,
    isTest: /\.(test|e2e)\.tsx?$/.test(path) || path.includes('/test/'),
    program,
    comments,
    imports,
    exports,
    isBarrel: isBarrel(program),
    lineOf,
  }
}

/** Files that the program names in a dynamic import or any other string, such as a worker's. */
function namedFiles(
  program: ESTree.Program,
  { target, lineOf }: Pick<SourceFile, 'lineOf'> & { target(specifier: string): string | null },
): Import[] {
  const found: Import[] = []
  const staticSources = new Set<ESTree.Node>()
  walk(program, (node, parents) => {
    if ('source' in node && node.source && node.type !== 'ImportExpression') {
      staticSources.add(node.source)
    }
    if (node.type !== 'Literal' || typeof node.value !== 'string' || staticSources.has(node)) return
    const parent = parents.at(-1)
    const isDynamic = parent?.type === 'ImportExpression'
    if (!isDynamic && !/^[\w./-]+\.(tsx?|js)$/.test(node.value)) return
    found.push({
      specifier: node.value,
      target: target(isDynamic || node.value.startsWith('.') ? node.value : `./${node.value}`),
      kind: isDynamic ? 'dynamic' : 'path',
      isType: parent?.type === 'TSImportType',
      names: isDynamic ? null : [],
      line: lineOf(node.start),
    })
  })
  return found
}

function isBarrel(program: ESTree.Program): boolean {
  const others = program.body.filter((statement) => statement.type !== 'ImportDeclaration')
  return (
    others.length > 0 &&
    others.every(
      (statement) =>
        statement.type === 'ExportAllDeclaration' ||
        (statement.type === 'ExportNamedDeclaration' && !statement.declaration),
    )
  )
}
