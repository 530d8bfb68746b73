/** Ratio maps as the text of an option. */

/** Maximum digits of a floating-point number; One API writes ratios as such numbers. */
const RATIO_DIGITS_MAX = 17
const RATIO_DECIMALS_MAX = 30
const RATIO_MAX = 1_000_000

export interface RatioProblem {
  zh: string
  en: string
}

/**
 * Parses a ratio map from JSON. Each ratio keeps its decimal text, so that prices are never
 * computed with floating-point numbers. Ratios have up to 17 significant digits and are from 0 to
 * 1,000,000; the last entry of a repeated name applies.
 */
export function parseRatios(text: string): Map<string, string> | RatioProblem {
  const map = new Map<string, string>()
  let parsed: unknown
  try {
    // Inner members are visited first, so an outer member overwrites a nested one of the same name.
    const reviver = (key: string, value: unknown, context: { source?: string }): unknown => {
      if (typeof value === 'number') map.set(key, plain(context.source ?? ''))
      return value
    }
    // The engine passes a third argument, which TypeScript's library types lack.
    parsed = JSON.parse(text, reviver as (key: string, value: unknown) => unknown)
  } catch {
    return { zh: '不是有效的 JSON', en: 'it is not valid JSON' }
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    return {
      zh: '需要 JSON 对象，例如 {"gpt-4o": 1.25}',
      en: 'it must be a JSON object, such as {"gpt-4o": 1.25}',
    }
  }
  for (const [name, value] of Object.entries(parsed)) {
    const problem = ratioProblem(name, value, map.get(name))
    if (problem !== null) return problem
  }
  return map
}

/**
 * Returns the effective ratios of a stored text: all entries if the text is valid, otherwise the
 * entries that can be read. One API's own list contains a negative ratio, and other lists may
 * contain ratios out of range; one such entry must not change the prices of the others. Ratios with
 * too many digits are rounded, ratios above the maximum become the maximum, and negative ratios and
 * other values are omitted.
 */
export function ratiosInForce(text: string): Map<string, string> {
  const exact = parseRatios(text)
  if (exact instanceof Map) return exact
  const map = new Map<string, string>()
  for (const [name, value] of Object.entries(readObject(text))) {
    const ratio = typeof value === 'number' ? nearestRatio(value) : null
    if (ratio !== null && ratioProblem(name, Number(ratio), ratio) === null) map.set(name, ratio)
  }
  return map
}

function readObject(text: string): object {
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? parsed : {}
  } catch {
    return {}
  }
}

/** Returns null for a negative number or NaN. */
function nearestRatio(value: number): string | null {
  if (!(value >= 0)) return null
  if (value >= RATIO_MAX) return String(RATIO_MAX)
  const rounded = plain(String(Number(value.toPrecision(RATIO_DIGITS_MAX))))
  const [whole = '0', fraction = ''] = rounded.split('.')
  return fraction === '' ? whole : `${whole}.${fraction.slice(0, RATIO_DECIMALS_MAX)}`
}

function ratioProblem(
  name: string,
  value: unknown,
  ratio: string | undefined,
): RatioProblem | null {
  const shown = name.slice(0, 100)
  if (typeof value !== 'number' || ratio === undefined) {
    return { zh: `「${shown}」的值不是数字`, en: `the value of “${shown}” is not a number` }
  }
  // A value may be in range although its text cannot be used in arithmetic: `-0`, `1e-400`.
  const [, fraction = ''] = /^\d+(?:\.(\d+))?$/.exec(ratio) ?? [null, '-'.repeat(1000)]
  const isFine =
    value >= 0 &&
    value <= RATIO_MAX &&
    fraction.length <= RATIO_DECIMALS_MAX &&
    significantDigits(ratio) <= RATIO_DIGITS_MAX
  if (isFine) return null
  return {
    zh: `「${shown}」的倍率需要在 0 到 ${RATIO_MAX} 之间，最多 ${RATIO_DIGITS_MAX} 位有效数字`,
    en: `the ratio of “${shown}” must be from 0 to ${RATIO_MAX} with at most ${RATIO_DIGITS_MAX} significant digits`,
  }
}

/**
 * Returns the first name that occurs twice in the JSON text of a flat map; null if names are
 * unique.
 */
export function duplicateRatioName(text: string): string | null {
  const seen = new Set<string>()
  // In a map of numbers, all strings are names.
  for (const [source] of text.matchAll(/"(?:[^"\\]|\\.)*"/g)) {
    const name = String(JSON.parse(source))
    if (seen.has(name)) return name
    seen.add(name)
  }
  return null
}

/** Converts to decimal text without an exponent: `7.5e-2` becomes `0.075`. */
function plain(source: string): string {
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(source)
  if (match === null) return source
  const [, sign = '', whole = '', fraction = '', exponent] = match
  if (exponent === undefined) return source
  const digits = whole + fraction
  const point = whole.length + Number(exponent)
  // Limits the padding; larger values are rejected before this text is used.
  if (Math.abs(point) > 400) return source
  if (point <= 0) return `${sign}0.${'0'.repeat(-point)}${digits}`
  if (point >= digits.length) return `${sign}${digits}${'0'.repeat(point - digits.length)}`
  return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`
}

function significantDigits(text: string): number {
  const digits = text.replace(/[-.]/g, '').replace(/^0+/, '')
  return digits.length
}
