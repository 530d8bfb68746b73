/**
 * Our rules that no published plugin has, as a plugin of oxlint. `.oxlintrc.json` says which files
 * each one applies to; a message says what to do. An exception is a comment at the line:
 * `// oxlint-disable-next-line gatehouse/<rule> -- <reason>`.
 */
import { definePlugin, defineRule, type Context, type ESTree } from '@oxlint/plugins'
import { analyse } from 'scslre'
import { basename } from 'node:path'
import { ChannelTypeNumber } from '../../src/contract/channel-type-number.ts'

type Report = (at: { loc: ESTree.Node['loc'] }, message: string) => void

/** A rule that checks each node of the given types separately. */
function ruleOf<N extends ESTree.Node>(
  types: readonly N['type'][],
  visit: (node: N, report: Report, context: Context) => void,
) {
  return defineRule({
    create(context) {
      const report: Report = ({ loc }, message) => context.report({ loc, message })
      // The cast holds because oxlint calls a visitor with nodes of its own type.
      const enter = (node: ESTree.Node) => visit(node as N, report, context)
      return Object.fromEntries(types.map((type) => [type, enter]))
    },
  })
}

/** `b` of `b` and of `a.b`; null for anything else. */
function lastName(node: ESTree.Node): string | null {
  if (node.type === 'Identifier') return node.name
  if (node.type !== 'MemberExpression' || node.computed) return null
  return node.property.type === 'Identifier' ? node.property.name : null
}

const numberOf = (node: ESTree.Node | null | undefined) =>
  node?.type === 'Literal' && typeof node.value === 'number' ? node.value : null

const COLUMNS_MAX = 100

/** Comments that the formatter does not break, and lint switched off without a reason. */
const comments = ruleOf<ESTree.Program>(['Program'], (_program, report, { sourceCode }) => {
  for (const comment of sourceCode.getAllComments()) {
    if (/\b(ox|es)lint-disable/.test(comment.value) && !/ -- \S/.test(comment.value)) {
      report(comment, 'Say after " -- " why the lint is wrong here.')
    }
    const { start, end } = comment.loc
    const lines = sourceCode.lines.slice(start.line - 1, end.line)
    // A doc comment on one line is measured as if it stood on several lines, as the formatter does.
    const widths = lines.map((line) => line.replace(/^(\s*)\/\*\* (.*) \*\/$/, '$1 * $2'))
    const isAlone = /^\s*(\/\/|\/\*|\*)/
    if (widths.some((l) => l.length > COLUMNS_MAX && isAlone.test(l) && !l.includes('://'))) {
      report(comment, `Break the comment: its lines end at column ${COLUMNS_MAX}.`)
    }
  }
})

/** A cast is a claim that the compiler cannot check. */
const castReason = ruleOf<ESTree.TSAsExpression>(
  ['TSAsExpression'],
  (node, report, { sourceCode }) => {
    const { typeAnnotation: type, parent } = node
    const isConst = type.type === 'TSTypeReference' && sourceCode.getText(type) === 'const'
    // `x as unknown as Y` is one claim.
    if (isConst || parent.type === 'TSAsExpression') return
    const around = sourceCode.getAncestors(node)
    const statement = around.findLast((outer) =>
      /Statement$|Declaration$|^Property$/.test('type' in outer ? String(outer.type) : ''),
    )
    const first = (statement ?? node).loc.start.line - 1
    const explained = sourceCode
      .getAllComments()
      .some(({ loc }) => loc.end.line >= first && loc.end.line <= node.loc.end.line)
    if (explained) return
    report(node, 'Say in a comment why this cast holds, or narrow the type with a check.')
  },
)

const HTTP_STATUS_MIN = 100
const CHANNEL_TYPE_MAX = Math.max(...Object.values(ChannelTypeNumber))

/** `role >= 10`, `status === 1`: the contract has names for these numbers. */
const namedComparison = ruleOf<ESTree.BinaryExpression>(['BinaryExpression'], (node, report) => {
  if (!/^(===|!==|<|<=|>|>=)$/.test(node.operator)) return
  const sides = [node.left, node.right]
  const number = sides.map(numberOf).find((value) => value !== null)
  const name = sides.map(lastName).find((value) => value !== null)
  if (number === undefined || number === null) return
  // Our statuses are small numbers; 0 is the absence of one, and the rest are HTTP's.
  const isStatus = name === 'status' && number > 0 && number < HTTP_STATUS_MIN
  if (name !== 'role' && name !== 'type' && !isStatus) return
  report(node, `Compare ${name} with a named constant of src/contract, not with ${number}.`)
})

/** `new Set([1, 3])`, `new Map([[14, …]])`, `{ 17: … }`: tables by bare channel types. */
const namedTable = ruleOf<ESTree.ObjectExpression | ESTree.NewExpression>(
  ['ObjectExpression', 'NewExpression'],
  (node, report) => {
    const numbers = keysOf(node).flatMap((key) => numberOf(key) ?? [])
    if (numbers.length === 0 || !numbers.every((n) => n >= 1 && n <= CHANNEL_TYPE_MAX)) return
    report(node, `Give ${numbers[0]} its name: channel types have theirs in ChannelTypeNumber.`)
  },
)

function keysOf(node: ESTree.ObjectExpression | ESTree.NewExpression) {
  if (node.type === 'ObjectExpression') {
    return node.properties.map((member) => (member.type === 'Property' ? member.key : null))
  }
  const [rows] = node.arguments
  if (!/^(Map|Set)$/.test(lastName(node.callee) ?? '') || rows?.type !== 'ArrayExpression')
    return []
  return rows.elements.map((row) => (row?.type === 'ArrayExpression' ? row.elements[0] : row))
}

/**
 * `call.onGone = () => …`: V8 allocates such a function in the old generation, so everything that
 * it references, a whole call, survives collections of the young generation.
 */
const noInlineHandler = ruleOf<ESTree.AssignmentExpression>(
  ['AssignmentExpression'],
  ({ left, right }, report) => {
    if (left.type !== 'MemberExpression') return
    if (!/^(ArrowFunction|Function)Expression$/.test(right.type)) return
    report(right, 'Name the function first, then assign it: written here it keeps its call.')
  },
)

const PAGE_READS =
  /^(textContent|allTextContents|innerText|inputValue|isDisabled|isEnabled|isChecked|getAttribute)$/

/** `expect(await button.isDisabled()).toBe(…)`: on a slow machine the page is not there yet. */
const pollPage = ruleOf<ESTree.CallExpression>(['CallExpression'], (node, report) => {
  const [read] = node.arguments
  if (lastName(node.callee) !== 'expect' || read?.type !== 'AwaitExpression') return
  if (read.argument.type !== 'CallExpression') return
  if (!PAGE_READS.test(lastName(read.argument.callee) ?? '')) return
  // Checks for absence once, after another check has proved that the page is loaded.
  if (lastName(node.parent) === 'not') return
  report(node, 'Wait for what is expected: await expect.poll(() => …).')
})

const SQL_TEXT =
  /\b(SELECT\s[^]*\sFROM\s|INSERT\s+INTO\s|DELETE\s+FROM\s|UPDATE\s+\w+\s+SET\s|CREATE\s+(TABLE|INDEX)\s)/
/** How the query builder begins a statement, which needs no import. */
const SQL_CALLS = /^(selectFrom|insertInto|replaceInto|mergeInto|updateTable|deleteFrom)$/

const sqlInStores = ruleOf<ESTree.StringLiteral | ESTree.TemplateLiteral | ESTree.CallExpression>(
  ['Literal', 'TemplateLiteral', 'CallExpression'],
  (node, report, { sourceCode }) => {
    const isSql =
      node.type === 'CallExpression'
        ? SQL_CALLS.test(lastName(node.callee) ?? '')
        : SQL_TEXT.test(sourceCode.getText(node))
    if (isSql) report(node, 'SQL is written in *-store.ts only; add an operation to the store.')
  },
)

const passedClock = ruleOf<ESTree.NewExpression>(['NewExpression'], (node, report) => {
  if (lastName(node.callee) !== 'Date' || node.arguments.length > 0) return
  report(node, 'new Date(): the clock is passed in, so that tests decide the time.')
})

const noBarrel = ruleOf<ESTree.Program>(['Program'], ({ body }, report) => {
  const others = body.filter(({ type }) => type !== 'ImportDeclaration')
  const all = others.find(({ type }) => type === 'ExportAllDeclaration')
  const isBarrel = others.every(
    (statement) => statement.type === 'ExportNamedDeclaration' && !statement.declaration,
  )
  const at = all ?? (isBarrel ? others[0] : undefined)
  if (at) report(at, 'No barrels; import each name from the file that declares it.')
})

/** Names that do not describe their content. */
const EMPTY_WORD = /^(services?|managers?|helpers?|utils?|misc|common)$/
/** One word per thing (`docs/glossary.md`): the term to use instead. */
const SYNONYMS = new Map([
  ['voucher', 'redemption'],
  ['coupon', 'redemption'],
  ['recharge', 'redeem or topUp'],
])

const EXPORTED = /^export (?:async )?(?:const|let|function|class|interface|type) (\w+)/gm

/** Names of files and exports. */
const plainNames = ruleOf<ESTree.Program>(['Program'], (program, report, context) => {
  const { filename, sourceCode } = context
  const [file = ''] = basename(filename).split('.')
  const names = [...sourceCode.text.matchAll(EXPORTED)].map(({ 1: name = '', index }) => {
    const start = sourceCode.getLocFromIndex(index)
    return { name, loc: { start, end: start } }
  })
  for (const at of [{ name: file, loc: program.loc }, ...names]) {
    const words = at.name.split(/[-_]|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/)
    for (const word of words.map((cased) => cased.toLowerCase())) {
      if (SYNONYMS.has(word)) report(at, `Say ${SYNONYMS.get(word)}, not "${word}".`)
    }
    const last = words.at(-1)?.toLowerCase() ?? ''
    if (EMPTY_WORD.test(last)) report(at, `"${last}" says nothing; name the thing or what it does.`)
  }
})

/** A pattern without these takes time that the length of a text does not change. */
const UNBOUNDED = /[*+]|\{\d+,\}/

/** Regular expressions whose time grows faster than the text that they read. */
const linearPattern = ruleOf<ESTree.RegExpLiteral | ESTree.NewExpression | ESTree.CallExpression>(
  ['Literal', 'NewExpression', 'CallExpression'],
  (node, report) => {
    if (node.type !== 'Literal') {
      if (node.callee.type !== 'Identifier' || node.callee.name !== 'RegExp') return
      report(node, 'Write the pattern as a literal, or say why no text makes it slow.')
      return
    }
    if (!('regex' in node) || !UNBOUNDED.test(node.regex.pattern)) return
    const { reports } = analyse({ source: node.regex.pattern, flags: node.regex.flags })
    if (reports.length === 0) return
    const growth = reports.some((r) => r.exponential) ? 'exponentially' : 'polynomially'
    report(node, `Its time grows ${growth} with the text; split and compare instead.`)
  },
)

export const rules = {
  'cast-reason': castReason,
  comments,
  'linear-pattern': linearPattern,
  'named-comparison': namedComparison,
  'named-table': namedTable,
  'no-barrel': noBarrel,
  'no-inline-handler': noInlineHandler,
  'passed-clock': passedClock,
  'plain-names': plainNames,
  'poll-page': pollPage,
  'sql-in-stores': sqlInStores,
}

// oxlint takes a plugin's default export.
// oxlint-disable-next-line import/no-default-export -- oxlint loads no other
export default definePlugin({ meta: { name: 'gatehouse' }, rules })
