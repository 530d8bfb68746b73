import { meteringFigures } from '../../model/model-table.ts'
import { memberObject, memberValue, type ScannedBody } from '../json/body-scan.ts'

/**
 * Tokens of an image that Gemini generates. Gemini sells images by tokens only: these are reserved
 * for an image, and charged if the response reports no usage.
 */

const USUAL_SIDE = 1024

const LARGEST = '4096x4096'
/** Gemini's names of sizes. */
const SIZES: ReadonlyMap<unknown, string> = new Map([
  ['512', '512x512'],
  ['1K', '1024x1024'],
  ['2K', '2048x2048'],
  ['4K', LARGEST],
])
/** Google's servers accept both spellings. */
const SPELLINGS = ['imageSize', 'image_size']

/**
 * Size in Gemini's own member, which takes precedence over `size`; undefined if not set. Duplicate
 * or unknown sizes count as the largest.
 */
export function ownSize(body: ScannedBody, model: string): string | undefined {
  const config = meteringFigures(model).image_tokens ? memberObject(body, 'imageConfig') : null
  if (config === null) return undefined
  const said = SPELLINGS.map((name) => memberValue(config, name) ?? '').filter(Boolean)
  const [word, other] = said
  if (word === undefined) return undefined
  return other === undefined ? (SIZES.get(word) ?? LARGEST) : LARGEST
}

/**
 * `size`: such as `1024x1024`; any other text counts as not set. Null if the model is not Gemini's.
 */
export function generatedImageTokens(model: string, size: string): number | null {
  const [width = Number.NaN, height = Number.NaN] = size.split('x').map(Number)
  const side = Math.sqrt(width * height) || USUAL_SIDE
  const { image_tokens: bySide } = meteringFigures(model)
  return bySide?.find(([most]) => most === null || side <= most)?.[1] ?? null
}
