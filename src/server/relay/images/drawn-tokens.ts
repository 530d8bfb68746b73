import { memberObject, memberValue, type ScannedBody } from '../json/body-scan.ts'

/**
 * Tokens of a picture that Gemini draws, which is sold by these alone: what is held back for it,
 * and charged where nobody says what it took. Source: Gemini API, "Pricing", image output.
 */

const GEMINI = /(?:^|\/)gemini-/
const OLDER_GEMINI = /(?:^|\/)gemini-[12]\./
const OLDER_TOKENS = 1290
/** By the side of a square with as many pixels; of the dearest model. */
const TOKENS: readonly [side: number, tokens: number][] = [
  [1448, 1120],
  [2896, 1680],
  [Infinity, 2520],
]
const USUAL_SIDE = 1024

/** Gemini's words for a size. */
const SIZES: ReadonlyMap<unknown, string> = new Map([
  ['1K', '1024x1024'],
  ['2K', '2048x2048'],
  ['4K', '4096x4096'],
])

/** What Gemini is asked for in its own words, which go before `size`; undefined: nothing. */
export function ownSize(body: ScannedBody, model: string): string | undefined {
  const config = GEMINI.test(model) ? memberObject(body, 'imageConfig') : null
  return config === null ? undefined : SIZES.get(memberValue(config, 'imageSize'))
}

/** `size`: as `1024x1024`, or what else says nothing. Null: the model is none of Gemini's. */
export function drawnTokens(model: string, size: string): number | null {
  if (!GEMINI.test(model)) return null
  if (OLDER_GEMINI.test(model)) return OLDER_TOKENS
  const [width = Number.NaN, height = Number.NaN] = size.split('x').map(Number)
  const side = Math.sqrt(width * height) || USUAL_SIDE
  return TOKENS.find(([most]) => side <= most)?.[1] ?? OLDER_TOKENS
}
