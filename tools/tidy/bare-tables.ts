import type { ESTree } from 'vite'
import { ChannelTypeNumber } from '../../src/contract/channel-type-number.ts'
import { walk } from './tree.ts'
import type { SourceFile, Tree, Violation } from './tree.ts'

const TYPE_MAX = Math.max(...Object.values(ChannelTypeNumber))

/** Where the numbers are another program's. */
const OTHERS_NUMBERS = /^src\/server\/adopt\/relative\//

/** `new Set([1, 3])`, `new Map([[14, …]])`, `{ 17: … }`: tables by channel type, in bare numbers. */
export function bareTables(tree: Tree): Violation[] {
  return [...tree.values()]
    .filter(({ path, isTest }) => path.startsWith('src/') && !isTest && !OTHERS_NUMBERS.test(path))
    .flatMap(tablesOf)
}

function tablesOf(file: SourceFile): Violation[] {
  const found: Violation[] = []
  walk(file.program, (node) => {
    const numbers = keysOf(node).flatMap((key) =>
      key?.type === 'Literal' && typeof key.value === 'number' ? [key.value] : [],
    )
    const [first] = numbers
    if (first === undefined || !numbers.every((key) => key >= 1 && key <= TYPE_MAX)) return
    found.push({
      rule: 'bare-number',
      path: file.path,
      line: file.lineOf(node.start),
      message: `give ${first} its name: channel types have theirs in ChannelTypeNumber.`,
    })
  })
  return found
}

/** What a table is looked up by. */
function keysOf(node: ESTree.Node): (ESTree.Node | null | undefined)[] {
  if (node.type === 'ObjectExpression') {
    return node.properties.map((member) => (member.type === 'Property' ? member.key : null))
  }
  if (node.type !== 'NewExpression' || node.callee.type !== 'Identifier') return []
  const [rows] = node.arguments
  if (!/^(Map|Set)$/.test(node.callee.name) || rows?.type !== 'ArrayExpression') return []
  return rows.elements.map((row) => (row?.type === 'ArrayExpression' ? row.elements[0] : row))
}
