/**
 * Lists wording that readers have to decode, with what to write instead: in comments, test titles,
 * documents and the English texts of errors and console. `node tools/plain-words.ts src/server/db/`
 * checks a folder, without an argument the whole project. Fails if it finds any.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { EXEMPT, OPENING, WORDS } from './plain-words-list.ts'

type Finding = { path: string; line: number; found: string; instead: string }

/** `line` is the number of the first line. */
type Passage = { text: string; line: number; isComment?: boolean }

const COMMENT_LINE = /^\s*(\/\*\*?|\*\/?|\/\/)\s?(.*?)(\*\/)?$/
const TITLE = /\b(?:test|it|describe)(?:\.\w+)*(?:\([^'"`]*\))?\(\s*(['"`])(.+?)\1,/g
const ENGLISH = /^\s*(?:en:|"[^"]+":)\s*['"](.+)['"],?$/

const SOURCES = '{src,tools,bench,e2e}/**/*.{ts,tsx}'
const DOCUMENTS = '{README.md,CONTRIBUTING.md,docs/*.md,docs/decisions/*.md,docs/manual/en/*.md}'
const TEXTS = /^src\/(contract\/[^/]*errors[^/]*|console\/app\/en\.json)$/

/** Findings of the project at `root` in files whose path begins with `prefix`. */
function plainWords(root: string, prefix: string): Finding[] {
  return globSync([SOURCES, DOCUMENTS, 'src/console/app/en.json'], { cwd: root })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => path !== EXEMPT && path.startsWith(prefix))
    .toSorted()
    .flatMap((path) => findingsOf(path, readFileSync(join(root, path), 'utf8')))
}

/** Findings of one file with this content. */
export function findingsOf(path: string, source: string): Finding[] {
  const lines = source.split('\n')
  const english = TEXTS.test(path)
    ? lines.flatMap((text, at) => ({ text: ENGLISH.exec(text)?.[1] ?? '', line: at + 1 }))
    : []
  const prose = /\.tsx?$/.test(path)
    ? [...comments(lines), ...titles(source)]
    : lines.map((text, at) => ({ text: path.endsWith('.md') ? text : '', line: at + 1 }))
  return [...prose, ...english].flatMap((passage) => judge(path, passage))
}

function judge(path: string, { text, line, isComment }: Passage): Finding[] {
  // Text in backquotes or quotation marks is not checked: every second part, if its closing mark
  // exists.
  const parts = text.replaceAll(/[“”]/g, '"').split(/[`"]/)
  const plain = parts
    .map((part, at) =>
      at % 2 === 1 && at < parts.length - 1 ? part.replaceAll(/[^\n]/g, ' ') : part,
    )
    .join(' ')
  return [...WORDS, ...(isComment ? [[OPENING, 'a verb or a noun first'] as const] : [])].flatMap(
    ([pattern, instead]) => {
      const match = pattern.exec(plain.replaceAll('\n', ' '))
      if (!match) return []
      const at = line + plain.slice(0, match.index).split('\n').length - 1
      return [{ path, line: at, found: match[0], instead }]
    },
  )
}

/** Comments as passages: adjacent lines make one, so that a phrase may cross a line break. */
function comments(lines: readonly string[]): Passage[] {
  const found: Passage[] = []
  lines.forEach((text, at) => {
    const comment = COMMENT_LINE.exec(text)?.[2] ?? / \/\/ (.*)$/.exec(text)?.[1]
    if (comment === undefined) return
    const last = found.at(-1)
    const continues = last && last.line + last.text.split('\n').length === at + 1
    if (!continues || /^\s*\/\*/.test(text))
      found.push({ text: comment, line: at + 1, isComment: true })
    else last.text += `\n${comment}`
  })
  return found
}

function titles(source: string): Passage[] {
  return [...source.matchAll(TITLE)].map((match) => ({
    text: match[2] ?? '',
    line: source.slice(0, match.index).split('\n').length,
  }))
}

if (import.meta.main) {
  const findings = plainWords(join(import.meta.dirname, '..'), process.argv[2] ?? '')
  for (const { path, line, found, instead } of findings) {
    console.log(`${path}:${line} "${found}" → ${instead}`)
  }
  process.exitCode = findings.length === 0 ? 0 : 1
}
