import { basename, dirname } from 'node:path/posix'
import type { SourceFile, Tree, Violation } from './tree.ts'

const KEBAB = /^[a-z0-9]+(-[a-z0-9]+)*$/

/** Words that say nothing about what is inside. */
const EMPTY_WORDS = /^(services?|managers?|helpers?|utils?|misc|common)$/

/** One word per thing: what we say instead of these. */
const SYNONYMS: Record<string, string> = {
  voucher: 'redemption',
  coupon: 'redemption',
  recharge: 'redeem or topUp',
}

/** Files and exports named against the glossary (`docs/glossary.md`). */
export function misnomers(tree: Tree): Violation[] {
  return [...tree.values()].flatMap((file) => [...misnamedFile(file), ...misnamedExports(file)])
}

function misnamedFile({ path, isTest }: SourceFile): Violation[] {
  const found: Violation[] = []
  const report = (message: string) => found.push({ rule: 'file-name', path, message })
  const name = basename(path).replace(/(\.(test|e2e|d))?\.(tsx?|js)$/, '')
  // vite.config.ts and the like carry the name their tool looks for.
  const isConfig = name.endsWith('.config')
  for (const part of [...dirname(path).split('/'), ...(isConfig ? [] : [name])]) {
    if (!KEBAB.test(part)) report(`"${part}" is not kebab-case; rename it.`)
  }
  const words = name.split('-')
  const empty = words.find((word) => EMPTY_WORDS.test(word))
  if (empty) report(`"${empty}" says nothing; name the file after the noun or verb it is about.`)
  if (!isTest && words.length > 1 && words.at(-1) === 'types') {
    report('types stand beside the code that uses them; name the file after the noun.')
  }
  if (name === 'index') report('no index files; name the file after what it holds.')
  for (const word of words) {
    if (Object.hasOwn(SYNONYMS, word)) report(`say ${SYNONYMS[word]}, not "${word}".`)
  }
  return found
}

function misnamedExports({ path, exports }: SourceFile): Violation[] {
  return exports.flatMap(({ name, line }) => {
    const words = name
      .split(/_|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/)
      .map((word) => word.toLowerCase())
    const last = words.at(-1) ?? ''
    const synonym = words.find((word) => Object.hasOwn(SYNONYMS, word))
    const found: Violation[] = []
    if (EMPTY_WORDS.test(last)) {
      const message = `${name} ends in a word that says nothing; say what it does.`
      found.push({ rule: 'export-name', path, line, message })
    }
    if (synonym) {
      const message = `${name}: say ${SYNONYMS[synonym]}, not "${synonym}".`
      found.push({ rule: 'export-name', path, line, message })
    }
    return found
  })
}
