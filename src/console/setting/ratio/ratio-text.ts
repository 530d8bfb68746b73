import { decimalText } from '../../../contract/decimal.ts'
import { readJsonNumber } from './decimal.ts'

/** A flat map of ratios as its JSON text has it. */
export interface RatioText {
  /** Name → decimal text; of a name that occurs twice the last one, as on the server. */
  ratios: ReadonlyMap<string, string>
  /** Names that occur more than once. */
  repeated: readonly string[]
}

/** A member of a flat map: texts can only be names there. */
const MEMBER = /("(?:[^"\\]|\\.)*")\s*:\s*([^\s,}]+)/g

/** Null for what is no JSON object of numbers from 0 up. */
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
    // A plain number stays as it was written, its zeros at the end included.
    ratios.set(name, /[eE]/.test(source) ? decimalText(ratio) : source)
  }
  return { ratios, repeated: [...repeated] }
}

/** The first name of a JSON object whose value is no number from 0 up; null: there is none. */
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

/** One member a line, for people. */
const ratioLines = (ratios: ReadonlyMap<string, string>): string =>
  ratios.size === 0 ? '{}' : `{\n  ${members(ratios).join(',\n  ')}\n}`

/** As short as it goes, for the wire. */
const compactRatios = (ratios: ReadonlyMap<string, string>): string =>
  `{${[...ratios].map(([name, ratio]) => `${JSON.stringify(name)}:${ratio}`).join(',')}}`

/**
 * The same text as people read it; what cannot be read, and what names something twice, stays as it
 * is: its reader has to mend it.
 */
export function readableRatios(text: string): string {
  const read = readRatioText(text)
  return read === null || read.repeated.length > 0 ? text : ratioLines(read.ratios)
}

/** As it is sent and compared. */
export function sentRatios(text: string): string {
  const read = readRatioText(text)
  return read === null || read.repeated.length > 0 ? text : compactRatios(read.ratios)
}

/**
 * An edit of what was `seen`, over what is `saved` now: entries that somebody else has changed
 * since stay as they are saved, unless the edit is about them. What cannot be read is sent as it
 * was typed.
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

/** The text with one ratio set, or, by null, removed. A text that cannot be read stays as it is. */
export function withRatio(text: string, name: string, ratio: string | null): string {
  const read = readRatioText(text)
  if (read === null) return text
  const ratios = new Map(read.ratios)
  if (ratio === null) ratios.delete(name)
  else ratios.set(name, ratio)
  return ratioLines(ratios)
}
