import { dirname } from 'node:path/posix'
import type { ESTree } from 'vite'
import { walk } from './tree.ts'
import type { SourceFile, Tree, Violation } from './tree.ts'

const FILE_LINES_MAX = 400
const CONSOLE_FILE_LINES_MAX = 350
const TEST_FILE_LINES_MAX = 600
const FUNCTION_LINES_MAX = 70
const COMPONENT_LINES_MAX = 120
const FOLDER_FILES_MAX = 25
const COLUMNS_MAX = 100

/**
 * Returns the files, functions and folders that are larger than usual. They are warnings: size is a
 * reason to look at the code, and splitting a file only to satisfy a limit makes it harder to read.
 */
export function oversizes(tree: Tree): Violation[] {
  const files = [...tree.values()]
  return [
    ...files.flatMap(longFile),
    ...files.filter((file) => !file.isTest).flatMap(longFunctions),
    ...crowdedFolders(files),
  ]
}

function longFile({ path, text, isTest }: SourceFile): Violation[] {
  const lines = text.trimEnd().split('\n').length
  const limit = isTest
    ? TEST_FILE_LINES_MAX
    : path.startsWith('src/console/')
      ? CONSOLE_FILE_LINES_MAX
      : FILE_LINES_MAX
  if (lines <= limit) return []
  const message = `${lines} lines; more than ${limit}. Consider splitting it by subject.`
  return [{ rule: 'file-size', path, message }]
}

function longFunctions(file: SourceFile): Violation[] {
  const found: Violation[] = []
  walk(file.program, (node, parents) => {
    if (!isFunction(node)) return
    const name = functionName(node, parents.at(-1))
    const isComponent = file.path.endsWith('.tsx') && /^[A-Z]/.test(name)
    const limit = isComponent ? COMPONENT_LINES_MAX : FUNCTION_LINES_MAX
    const lines = isComponent ? lineCount(file, node) : ownLines(file, node)
    if (lines <= limit) return
    found.push({
      rule: 'function-size',
      path: file.path,
      line: file.lineOf(node.start),
      message: `${name || 'this function'} has ${lines} lines; more than ${limit}. Consider extracting named functions.`,
    })
  })
  return found
}

/** Lines of a function without those of the named functions inside it, which are counted themselves. */
function ownLines(file: SourceFile, outer: ESTree.Node): number {
  let lines = lineCount(file, outer)
  walk(outer, (node, parents) => {
    if (node === outer || !isFunction(node) || functionName(node, parents.at(-1)) === '') return
    const around = parents.filter((parent) => isFunction(parent) && parent !== outer)
    const isInsideCounted = around.some(
      (parent) => functionName(parent, parents[parents.indexOf(parent) - 1]) !== '',
    )
    if (!isInsideCounted) lines -= lineCount(file, node)
  })
  return lines
}

function isFunction(node: ESTree.Node): boolean {
  return (
    node.type === 'FunctionDeclaration' ||
    node.type === 'FunctionExpression' ||
    node.type === 'ArrowFunctionExpression'
  )
}

function functionName(node: ESTree.Node, parent: ESTree.Node | undefined): string {
  if (node.type === 'FunctionDeclaration' && node.id) return node.id.name
  if (parent?.type === 'VariableDeclarator' && parent.id.type === 'Identifier') {
    return parent.id.name
  }
  const isMember = parent?.type === 'Property' || parent?.type === 'MethodDefinition'
  return isMember && parent.key.type === 'Identifier' ? parent.key.name : ''
}

function lineCount(file: SourceFile, node: ESTree.Node): number {
  return file.lineOf(node.end) - file.lineOf(node.start) + 1
}

/**
 * Returns comments wider than 100 columns, which the formatter does not break. A doc comment on one
 * line is measured as if it stood on several lines, as the formatter does.
 */
export function wideComments(tree: Tree): Violation[] {
  return [...tree.values()].flatMap(wideCommentsOf)
}

function wideCommentsOf({ path, text }: SourceFile): Violation[] {
  return text.split('\n').flatMap((line, index) => {
    const width = line.replace(/^(\s*)\/\*\* (.*) \*\/$/, '$1 * $2').length
    const isComment = /^\s*(\/\/|\/\*|\*)/.test(line)
    if (!isComment || width <= COLUMNS_MAX || line.includes('://')) return []
    const message = `a comment of ${width} columns; at most ${COLUMNS_MAX}. Break the line.`
    return [{ rule: 'width', path, line: index + 1, message }]
  })
}

function crowdedFolders(files: readonly SourceFile[]): Violation[] {
  const folders = Map.groupBy(
    files.filter((file) => !file.isTest),
    (file) => dirname(file.path),
  )
  return [...folders].flatMap(([path, { length }]) => {
    if (length <= FOLDER_FILES_MAX) return []
    const message = `${length} files; more than ${FOLDER_FILES_MAX}. Consider grouping some in a folder.`
    return [{ rule: 'folder-size', path, message }]
  })
}
