import {
  type FieldProblem,
  countMember,
  flagMember,
  invalid,
} from '../protocols/dialect/surface.ts'
import type { UpstreamTraits } from '../protocols/dialect/traits.ts'
import { memberObject, memberValue, type ScannedBody } from '../json/body-scan.ts'
import { AppError } from '../../app-error.ts'

/**
 * Counts the images that a call can produce. Beside OpenAI's `n`, vendors have their own members,
 * which are sent upstream unchanged, possibly through another server. So the largest of all these
 * members is reserved, for every vendor.
 */
const COUNT_WORDS = [
  // DashScope's member of `parameters`.
  'n',
  // SiliconFlow
  'batch_size',
  // Imagen
  'sampleCount',
  // Models of Replicate; the last one is DashScope's, too.
  'num_outputs',
  'num_images',
  'number_of_images',
  'max_images',
] as const
/** Objects that may contain these members, in addition to the request itself. */
const PLACES = ['parameters', 'input'] as const

/** More than any vendor generates in a call, or finds in an image. */
export const ANY_COUNT = { min: 0, max: 100, otherwise: 0 }

/**
 * Returns the largest number of images in vendors' own members, 0 if not set; or the problem if a
 * member is not a number.
 */
export function ownImageCount(body: ScannedBody): number | FieldProblem {
  let most = 0
  for (const place of placesIn(body)) {
    for (const word of COUNT_WORDS) {
      // The top-level `n` is OpenAI's member and is checked elsewhere.
      if (place === body && word === 'n') continue
      const count = countMember(place, word, ANY_COUNT)
      if (count === null) return invalid(word)
      most = Math.max(most, count)
    }
    // Wan decides the number of images if it interleaves text and images.
    const isInterleaved = flagMember(place, 'enable_interleave') !== false
    const isSaid = (memberValue(place, 'max_images') ?? null) !== null
    if (isInterleaved && !isSaid) most = Math.max(most, INTERLEAVED_MAX)
    if (flagMember(place, 'layer_decomposition') !== false) most = Math.max(most, LAYERS_MAX)
  }
  return most
}

/**
 * Maximum number of images if the model decides, unless the request sets a lower one. Sources:
 * Alibaba Cloud Model Studio, "Wan image generation"; ModelArk, "Image generation API".
 */
const INTERLEAVED_MAX = 5
const GROUP_MAX = 15
/** An image that Seedream splits into layers, plus the layers. */
const LAYERS_MAX = 17

/** How many images of one prompt Seedream may generate; 0 if no group is asked for. */
export function groupOf(body: ScannedBody, traits: UpstreamTraits): number {
  if ((memberValue(body, 'sequential_image_generation') ?? 'disabled') === 'disabled') return 0
  if (traits.drawsNoGroups === true) return 0
  const options = memberObject(body, 'sequential_image_generation_options')
  const said = options && countMember(options, 'max_images', { ...ANY_COUNT, otherwise: GROUP_MAX })
  return said ?? GROUP_MAX
}

const placesIn = (body: ScannedBody): ScannedBody[] => [
  body,
  ...PLACES.flatMap((name) => memberObject(body, name) ?? []),
]

/** Limits of models that are sold by the image. Sizes: OpenAI's API reference, "Images". */
interface Limits {
  sizes: readonly string[]
  promptBytesMax: number
  imagesMax: number
}

const LIMITS: ReadonlyMap<string, Limits> = new Map([
  ['dall-e-2', { sizes: ['256x256', '512x512', '1024x1024'], promptBytesMax: 1000, imagesMax: 10 }],
  [
    'dall-e-3',
    { sizes: ['1024x1024', '1024x1792', '1792x1024'], promptBytesMax: 4000, imagesMax: 1 },
  ],
])

/**
 * Throws the client's error for an image that the model cannot make. `model`: the name that is sent
 * upstream. The error codes, and the limits of models that One API also has, are One API's.
 */
export function refuseImpossibleImage(body: ScannedBody, model: string): void {
  const limits = LIMITS.get(model)
  if (limits === undefined) return
  const { sizes, promptBytesMax, imagesMax } = limits
  const size = memberValue(body, 'size') ?? ''
  if (typeof size === 'string' && size !== '' && !sizes.includes(size)) {
    throw new AppError('picture_size_unsupported', { model, size: size.slice(0, SIZE_SHOWN) })
  }
  const prompt = memberValue(body, 'prompt')
  if (typeof prompt === 'string' && Buffer.byteLength(prompt) > promptBytesMax) {
    throw new AppError('picture_prompt_too_long', { model, max: promptBytesMax })
  }
  const count = memberValue(body, 'n')
  if (typeof count === 'number' && count > imagesMax) {
    throw new AppError('picture_count_out_of_range', { model, max: imagesMax })
  }
}

const SIZE_SHOWN = 20
