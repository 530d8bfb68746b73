import type { ESTree } from 'vite'
import { walk } from './tree.ts'
import type { SourceFile, Tree, Violation } from './tree.ts'

const HTTP_STATUS_MIN = 100

/**
 * Small habits that lint does not know: comments that stand for work, bare casts, numbers for
 * names.
 */
export function badHabits(tree: Tree): Violation[] {
  return [...tree.values()].flatMap((file) => [
    ...promises(file),
    ...(file.isTest ? [] : bareCasts(file)),
    ...(file.isTest || !file.path.startsWith('src/') ? [] : bareNumbers(file)),
    ...(file.isTest || !file.path.startsWith('src/server/relay/') ? [] : oldFunctions(file)),
    ...(file.path.startsWith('e2e/') ? hastyReads(file) : []),
  ])
}

function promises(file: SourceFile): Violation[] {
  return file.comments.flatMap(({ value, start }) => {
    const at = { path: file.path, line: file.lineOf(start) }
    if (/\b(TODO|FIXME|HACK|XXX)\b/.test(value)) {
      return [{ rule: 'comment', ...at, message: 'do it now, or delete the comment.' }]
    }
    if (/\b(ox|es)lint-disable/.test(value) && !/ -- \S/.test(value)) {
      return [{ rule: 'comment', ...at, message: 'say after " -- " why the lint is wrong here.' }]
    }
    return []
  })
}

/**
 * A cast is a claim that the compiler cannot check; a comment on its line or above says why it
 * holds.
 */
function bareCasts(file: SourceFile): Violation[] {
  const found: Violation[] = []
  const commentEnds = new Set(file.comments.map(({ end }) => file.lineOf(end)))
  walk(file.program, (node, parents) => {
    if (node.type !== 'TSAsExpression' || isConstCast(node)) return
    // `x as unknown as Y` is one claim.
    if (parents.at(-1)?.type === 'TSAsExpression') return
    const statement = parents.findLast((parent) =>
      /Statement$|Declaration$|^Property$/.test(parent.type),
    )
    const first = file.lineOf((statement ?? node).start) - 1
    const last = file.lineOf(node.end)
    for (let line = first; line <= last; line += 1) if (commentEnds.has(line)) return
    found.push({
      rule: 'cast',
      path: file.path,
      line: file.lineOf(node.start),
      message: 'say in a comment why this cast holds, or narrow the type with a check.',
    })
  })
  return found
}

function isConstCast({ typeAnnotation }: ESTree.TSAsExpression): boolean {
  return (
    typeAnnotation.type === 'TSTypeReference' &&
    typeAnnotation.typeName.type === 'Identifier' &&
    typeAnnotation.typeName.name === 'const'
  )
}

/** `role >= 10`, `status === 1`: the contract has names for these numbers. */
function bareNumbers(file: SourceFile): Violation[] {
  const found: Violation[] = []
  walk(file.program, (node) => {
    if (node.type !== 'BinaryExpression' || !/^(===|!==|<|<=|>|>=)$/.test(node.operator)) return
    const sides = [node.left, node.right]
    const number = sides.map(numberOf).find((value) => value !== null)
    const name = sides.map(lastName).find((value) => value !== null)
    if (number === undefined || number === null || !name) return
    // Our statuses are small numbers; 0 is the absence of one, and the rest are HTTP's.
    const isStatus = name === 'status' && number > 0 && number < HTTP_STATUS_MIN
    const isNamed = name === 'role' || name === 'type' || isStatus
    if (!isNamed) return
    found.push({
      rule: 'bare-number',
      path: file.path,
      line: file.lineOf(node.start),
      message: `compare ${name} with a named constant of src/contract, not with ${number}.`,
    })
  })
  return found
}

/**
 * `call.onGone = () => …`: V8 makes such a function in the old generation, and what it can see, a
 * whole call, outlives the collections of the young one.
 */
function oldFunctions(file: SourceFile): Violation[] {
  const found: Violation[] = []
  walk(file.program, (node) => {
    if (node.type !== 'AssignmentExpression' || node.left.type !== 'MemberExpression') return
    if (!/^(ArrowFunction|Function)Expression$/.test(node.right.type)) return
    found.push({
      rule: 'old-function',
      path: file.path,
      line: file.lineOf(node.start),
      message: 'give the function a name first, then assign it: written here it keeps its call.',
    })
  })
  return found
}

/** What a page shows, asked once. */
const READS =
  /^(textContent|allTextContents|innerText|inputValue|isDisabled|isEnabled|isChecked|getAttribute)$/

/** `expect(await button.isDisabled()).toBe(…)`: on a slow machine the page is not there yet. */
function hastyReads(file: SourceFile): Violation[] {
  const found: Violation[] = []
  walk(file.program, (node, parents) => {
    if (node.type !== 'CallExpression' || lastName(node.callee) !== 'expect') return
    const [read] = node.arguments
    if (read?.type !== 'AwaitExpression' || read.argument.type !== 'CallExpression') return
    if (!READS.test(lastName(read.argument.callee) ?? '')) return
    // That something is absent is asked once, after a proof that the page is there.
    if (lastName(parents.at(-1) ?? node) === 'not') return
    found.push({
      rule: 'hasty-read',
      path: file.path,
      line: file.lineOf(node.start),
      message: 'wait for what is expected: await expect.poll(() => …).',
    })
  })
  return found
}

function numberOf(node: ESTree.Node): number | null {
  return node.type === 'Literal' && typeof node.value === 'number' ? node.value : null
}

function lastName(node: ESTree.Node): string | null {
  if (node.type === 'Identifier') return node.name
  if (node.type !== 'MemberExpression' || node.property.type !== 'Identifier') return null
  return node.computed ? null : node.property.name
}
