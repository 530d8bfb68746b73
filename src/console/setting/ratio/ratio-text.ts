import { decimalText } from '../../../contract/decimal.ts'
import { readJsonNumber } from './decimal.ts'

/** A flat map of ratios, parsed from its JSON text. */
export interface RatioText {
  /** Name → decimal text; for a repeated name the last value, as on the server. */
  ratios: ReadonlyMap<string, string>
  /** Names that occur more than once. */
  repeated: readonly string[]
}

/** A member of a flat map, in which strings are always names. */
const MEMBER = /("(?:[^"\\]|\\.)*")\s*:\s*([^\s,}]+)/g

/** Null unless it is a JSON object of non-negative numbers. */
export function readRatioText(text: string): RatioText | null {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    return null
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return null
  if (Object.values(parsed).some((value) => typeof value !== 'number')) return null
  const ratios = new Map<string, string>()
  const repeated = new Set<string>()
  for (const [, quoted = '', source = ''] of text.matchAll(MEMBER)) {
    const name = quoted.includes('\\') ? String(JSON.parse(quoted)) : quoted.slice(1, -1)
    const ratio = readJsonNumber(source)
    if (ratio === null) return null
    if (ratios.has(name)) repeated.add(name)
    // A plain number keeps its spelling, including trailing zeros.
    ratios.set(name, /[eE]/.test(source) ? decimalText(ratio) : source)
  }
  return { ratios, repeated: [...repeated] }
}

/**
 * The first name in a JSON object whose value is not a non-negative number; null if all are valid.
 */
export function misfitOf(text: string): string | null {
  const parsed: unknown = JSON.parse(text)
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return null
  const misfit = Object.entries(parsed).find(
    ([, value]) => !(typeof value === 'number' && value >= 0),
  )
  return misfit?.[0] ?? null
}

const members = (ratios: ReadonlyMap<string, string>): string[] =>
  [...ratios].map(([name, ratio]) => `${JSON.stringify(name)}: ${ratio}`)

/** One member per line, for display. */
const ratioLines = (ratios: ReadonlyMap<string, string>): string =>
  ratios.size === 0 ? '{}' : `{\n  ${members(ratios).join(',\n  ')}\n}`

/** Compact, for sending. */
const compactRatios = (ratios: ReadonlyMap<string, string>): string =>
  `{${[...ratios].map(([name, ratio]) => `${JSON.stringify(name)}:${ratio}`).join(',')}}`

/**
 * Formats the text for display. Invalid text and text with repeated names stays unchanged, so that
 * the reader can correct it.
 */
export function readableRatios(text: string): string {
  const read = readRatioText(text)
  return read === null || read.repeated.length > 0 ? text : ratioLines(read.ratios)
}

/** Normalizes the text for sending and comparison. */
export function sentRatios(text: string): string {
  const read = readRatioText(text)
  return read === null || read.repeated.length > 0 ? text : compactRatios(read.ratios)
}

/**
 * Applies an edit of `seen` to what is `saved` now: entries that another administrator has changed
 * meanwhile keep their saved value, unless the edit changes them too. Invalid text is sent as
 * entered.
 */
export function overSavedRatios(edited: string, seen: string, saved: string): string {
  const [mine, before, theirs] = [edited, seen, saved].map(readRatioText)
  if (!mine || !before || !theirs || mine.repeated.length > 0) return edited
  const ratios = new Map(theirs.ratios)
  for (const name of [...before.ratios.keys(), ...mine.ratios.keys()]) {
    const ratio = mine.ratios.get(name)
    if (ratio === before.ratios.get(name)) continue
    if (ratio === undefined) ratios.delete(name)
    else ratios.set(name, ratio)
  }
  return compactRatios(ratios)
}

/** Sets one ratio, or removes it with null. Invalid text stays unchanged. */
export function withRatio(text: string, name: string, ratio: string | null): string {
  const read = readRatioText(text)
  if (read === null) return text
  const ratios = new Map(read.ratios)
  if (ratio === null) ratios.delete(name)
  else ratios.set(name, ratio)
  return ratioLines(ratios)
}
