import { channelErrors } from '../../../contract/channel-errors.ts'
import type { Words } from '../../../contract/channel-type-row.ts'
import {
  formerReasons,
  formerRows,
  logAmounts,
  logReasons,
  logRows,
} from '../../../contract/log-sentences.ts'
import { relayErrors } from '../../../contract/relay-errors.ts'
import type { ConsoleLanguage } from '../../app/i18n.ts'

/** A text with the pattern that recognizes it in stored rows. */
interface Known {
  words: Words
  pattern: RegExp
}

const known = (sentences: readonly Words[]): Known[] =>
  sentences.map((words) => ({ words, pattern: patternOf(words.zh) }))

function patternOf(sentence: string): RegExp {
  const literal = sentence.replaceAll(/[\\^$.*+?()[\]|]/g, String.raw`\$&`)
  // oxlint-disable-next-line gatehouse/linear-pattern -- reads the server's own sentences
  return new RegExp(`^${literal.replaceAll(/\{(\w+)\}/g, '(?<$1>.*)')}$`, 's')
}

const rows = known([...Object.values(logRows), ...Object.values(formerRows)])
const priceRows = known([
  logRows.priced_by_ratio,
  logRows.priced_by_call,
  formerRows.priced_by_three_ratios,
  formerRows.priced_by_two_ratios,
])
const amounts = known(Object.values(logAmounts))
/** Error messages begin an English sentence; here they end one. */
const refusals = Object.values<Words>({ ...channelErrors, ...relayErrors }).map(({ zh, en }) => ({
  zh,
  en: en.charAt(0).toLowerCase() + en.slice(1),
}))
const reasons = known([...Object.values(logReasons), ...formerReasons, ...refusals])

function translated(text: string, among: readonly Known[], language: ConsoleLanguage): string {
  for (const { words, pattern } of among) {
    const match = pattern.exec(text)
    if (match === null) continue
    const { groups = {} } = match
    return words[language].replaceAll(/\{(\w+)\}/g, (whole, name: string) =>
      placeText(name, groups[name] ?? whole, language),
    )
  }
  return text
}

function placeText(name: string, text: string, language: ConsoleLanguage): string {
  if (name === 'reason') return translated(text, reasons, language)
  if (!['amount', 'before', 'after'].includes(name)) return text
  // One API writes a full-width dollar sign; the columns beside the text use the usual one.
  return translated(text, amounts, language).replace(/^＄/, '$')
}

/**
 * Translates the content of a log row to the reader's language. Rows are stored in Chinese; texts
 * of other programs stay unchanged.
 */
export const contentText = (content: string, language: ConsoleLanguage): string =>
  translated(content, rows, language)

/** Whether the content states only how the call was priced. */
export const isPriceText = (content: string): boolean =>
  priceRows.some(({ pattern }) => pattern.test(content))
