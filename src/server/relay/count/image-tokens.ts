import { imageSizeOfDataUrl } from './image-size.ts'
import type { ImageSize } from './image-size.ts'

/**
 * Tokens of an image in a prompt, by the makers' published rules. Sizes come from the image's own
 * header bytes if it is inside the request. An image URL is never fetched (that would let clients
 * make the gateway call any server): it counts as 1024 × 1024, which is 765 tokens with GPT-4o, the
 * maximum for most photographs. Used only for reservations, and for calls whose upstream reports no
 * usage.
 */
export type ImageDetail = 'low' | 'high'

const UNKNOWN_SIZE: ImageSize = { width: 1024, height: 1024 }

/** Size of an image to be edited, if unknown: of all generated sizes, none counts more. */
const UNKNOWN_EDITED_SIZE: ImageSize = { width: 1024, height: 1536 }

/** How a family of models counts an image. Sizes are in pixels. */
type ImageRule = (size: ImageSize, detail: ImageDetail) => number

/** `detail` is the part's own; every value but `low` is high, as upstreams interpret `auto`. */
export function imageTokens(model: string, url: unknown, detail: unknown): number {
  const size = (typeof url === 'string' ? imageSizeOfDataUrl(url) : null) ?? UNKNOWN_SIZE
  return imageRule(model)(size, detail === 'low' ? 'low' : 'high')
}

/**
 * Tokens of an image that a model edits or uses as a reference. `size`: null if unknown.
 * `isFaithful`: the request asks to keep close to the image. Models without a published rule count
 * it as in a prompt.
 */
export function editedImageTokens(
  model: string,
  size: ImageSize | null,
  isFaithful: boolean,
): number {
  const rule = ruleIn(EDIT_RULES, model)
  if (rule === undefined) return imageRule(model)(size ?? UNKNOWN_SIZE, 'high')
  return rule(size ?? UNKNOWN_EDITED_SIZE, isFaithful ? 'high' : 'low')
}

/**
 * Tiles of 512 pixels after fitting into 2048 × 2048 and then to a short side of `shortSide`. Never
 * enlarged.
 */
const tiles =
  (base: number, perTile: number, shortSide = 768): ImageRule =>
  (size, detail) => {
    if (detail === 'low') return base
    const fitted = shrink(size, 2048 / Math.max(size.width, size.height))
    const scaled = shrink(fitted, shortSide / Math.min(fitted.width, fitted.height))
    return base + perTile * squares(scaled, 512)
  }

/** Patches of 32 pixels, at most 1536, times a factor of the model. */
const patches =
  (weight: number): ImageRule =>
  (size) =>
    Math.ceil(Math.min(1536, squares(size, 32)) * weight)

const flat =
  (tokens: number): ImageRule =>
  () =>
    tokens

const claudeRule: ImageRule = (size) => {
  const { width, height } = shrink(size, 1568 / Math.max(size.width, size.height))
  return Math.ceil((width * height) / 750)
}

const geminiRule: ImageRule = (size) =>
  size.width <= 384 && size.height <= 384 ? 258 : 258 * squares(size, 768)

/**
 * The first matching prefix counts, so longer prefixes come before shorter ones that they begin
 * with.
 */
const RULES: readonly (readonly [prefix: string, rule: ImageRule])[] = [
  ['gpt-4o-mini', tiles(2833, 5667)],
  ['gpt-4.1-mini', patches(1.62)],
  ['gpt-4.1-nano', patches(2.46)],
  ['gpt-5-mini', patches(1.62)],
  ['gpt-5-nano', patches(2.46)],
  ['o4-mini', patches(1.72)],
  ['gpt-5', tiles(70, 140)],
  ['o1', tiles(75, 150)],
  ['o3', tiles(75, 150)],
  ['computer-use', tiles(65, 129)],
  ['glm-4v', flat(1047)],
  ['claude', claudeRule],
  ['gemini', geminiRule],
]
/** GPT-4o, 4.1 and 4.5, and all models without a published rule. */
const DEFAULT_RULE = tiles(85, 170)

const imageRule = (model: string): ImageRule => ruleIn(RULES, model) ?? DEFAULT_RULE

/** GPT Image 1 and 1.5: with high fidelity, the shape of the image counts as well. */
const editedTiles: ImageRule = (size, detail) => {
  const byShape = size.width === size.height ? 4160 : 6240
  return tiles(65, 129, 512)(size, 'high') + (detail === 'high' ? byShape : 0)
}

/**
 * GPT Image 2, which always uses high fidelity: small images are enlarged up to twice, to a long
 * side of 1024, and none is narrower than a third.
 */
const editedPatches: ImageRule = (size) => {
  const long = Math.max(size.width, size.height)
  const factor = Math.min(2, Math.max(1, 1024 / long))
  const sideMin = long / 3
  const width = Math.max(size.width, sideMin) * factor
  const height = Math.max(size.height, sideMin) * factor
  return patches(1)({ width, height }, 'high')
}

/**
 * Source: OpenAI's guide "Images and vision", GPT Image 1. Nothing is published for GPT Image 2;
 * developers have measured it (OpenAI's developer forum, "Image Input Pricing").
 */
const EDIT_RULES: readonly (readonly [prefix: string, rule: ImageRule])[] = [
  ['gpt-image-2', editedPatches],
  ['gpt-image-', editedTiles],
  ['chatgpt-image-', editedTiles],
]

function ruleIn(rules: typeof RULES, model: string): ImageRule | undefined {
  const name = model.slice(model.lastIndexOf('/') + 1)
  return rules.find(([prefix]) => name.startsWith(prefix))?.[1]
}

const shrink = (size: ImageSize, factor: number): ImageSize =>
  factor >= 1
    ? size
    : { width: Math.max(1, size.width * factor), height: Math.max(1, size.height * factor) }

/** Rounded first: a side of 768.0000001 after scaling is 768. */
const squares = ({ width, height }: ImageSize, side: number): number =>
  Math.ceil(Math.round(width) / side) * Math.ceil(Math.round(height) / side)
