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

const LARGEST = '4096x4096'
/** Gemini's words for a size. */
const SIZES: ReadonlyMap<unknown, string> = new Map([
  ['512', '512x512'],
  ['1K', '1024x1024'],
  ['2K', '2048x2048'],
  ['4K', LARGEST],
])
/** Google's servers read a name in either spelling. */
const SPELLINGS = ['imageSize', 'image_size']

/**
 * What Gemini is asked for in its own words, which go before `size`; undefined: nothing. What is
 * said twice, or in a word that is not known, counts as the largest.
 */
export function ownSize(body: ScannedBody, model: string): string | undefined {
  const config = GEMINI.test(model) ? memberObject(body, 'imageConfig') : null
  if (config === null) return undefined
  const said = SPELLINGS.map((name) => memberValue(config, name) ?? '').filter(Boolean)
  const [word, other] = said
  if (word === undefined) return undefined
  return other === undefined ? (SIZES.get(word) ?? LARGEST) : LARGEST
}

/** `size`: as `1024x1024`, or what else says nothing. Null: the model is none of Gemini's. */
export function drawnTokens(model: string, size: string): number | null {
  if (!GEMINI.test(model)) return null
  if (OLDER_GEMINI.test(model)) return OLDER_TOKENS
  const [width = Number.NaN, height = Number.NaN] = size.split('x').map(Number)
  const side = Math.sqrt(width * height) || USUAL_SIDE
  return TOKENS.find(([most]) => side <= most)?.[1] ?? OLDER_TOKENS
}
