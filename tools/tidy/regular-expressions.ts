import { createRequire } from 'node:module'
import { walk, type Tree, type Violation } from './tree.ts'

/** The part of scslre that is used; its own types import those of its parser. */
interface Analyser {
  analyse(literal: { source: string; flags: string }): {
    reports: readonly { exponential: boolean; character: { pick(): number } }[]
  }
}

// The cast holds by scslre's documentation.
const { analyse } = createRequire(import.meta.url)('scslre') as Analyser

/** A pattern without these takes time that the length of a text does not change. */
const UNBOUNDED = /[*+]|\{\d+,\}/

/**
 * Regular expressions whose time grows faster than the text: a stranger's packet of 8 KB once kept
 * the process busy for half a minute. Patterns put together at run time cannot be read here: they
 * need an exception that says why they are safe.
 */
export function slowPatterns(tree: Tree): Violation[] {
  const found: Violation[] = []
  for (const { path, isTest, program, lineOf } of tree.values()) {
    if (isTest || path.startsWith('e2e/')) continue
    walk(program, (node) => {
      const line = lineOf(node.start)
      if (node.type === 'Literal' && 'regex' in node) {
        const { pattern, flags } = node.regex
        const message = slowness(pattern, flags)
        if (message !== null) found.push({ rule: 'slow-pattern', path, line, message })
      }
      const isMade = node.type === 'NewExpression' || node.type === 'CallExpression'
      if (isMade && node.callee.type === 'Identifier' && node.callee.name === 'RegExp') {
        found.push({ rule: 'built-pattern', path, line, message: BUILT })
      }
    })
  }
  return found
}

const BUILT = 'write the pattern as a literal, or say in an exception why no text makes it slow.'

/** What is wrong with a pattern; null if its time is linear. */
function slowness(source: string, flags: string): string | null {
  if (!UNBOUNDED.test(source)) return null
  const { reports } = analyse({ source, flags })
  if (reports.length === 0) return null
  const growth = reports.some(({ exponential }) => exponential) ? 'exponentially' : 'polynomially'
  return `/${source}/${flags} takes time that grows ${growth} with the text; split and compare instead.`
}
