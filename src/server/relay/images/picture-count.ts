import type { FieldProblem } from '../dialect/surface.ts'
import type { UpstreamTraits } from '../dialect/traits.ts'
import { memberObject, memberValue, type ScannedBody } from '../json/body-scan.ts'
import { countMember, flagMember, invalid } from '../dialect/fields.ts'

/**
 * Counts the images that a call can produce. Vendors have members of their own beside OpenAI's `n`,
 * which reach them unchanged, sometimes through another server. So the highest of all of them is
 * reserved, for every vendor.
 */
const COUNT_WORDS = [
  // DashScope, in `parameters`.
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
/** Objects in which vendors look for them, beside the request itself. */
const PLACES = ['parameters', 'input'] as const

/** More than any vendor generates in a call, or finds in an image. */
export const ANY_COUNT = { min: 0, max: 100, otherwise: 0 }

/** Number of images in vendors' own members; 0 if not set. Or the member that is not a number. */
export function ownPictureCount(body: ScannedBody): number | FieldProblem {
  let most = 0
  for (const place of placesIn(body)) {
    for (const word of COUNT_WORDS) {
      // OpenAI's own `n` has its own rules.
      if (place === body && word === 'n') continue
      const count = countMember(place, word, ANY_COUNT)
      if (count === null) return invalid(word)
      most = Math.max(most, count)
    }
    // Wan's interleaved text and images.
    const isInterleaved = flagMember(place, 'enable_interleave') !== false
    const isSaid = (memberValue(place, 'max_images') ?? null) !== null
    if (isInterleaved && !isSaid) most = Math.max(most, INTERLEAVED_MAX)
    if (flagMember(place, 'layer_decomposition') !== false) most = Math.max(most, LAYERS_MAX)
  }
  return most
}

/**
 * Maximum if the model decides, unless the request sets a lower one. Sources: Alibaba Cloud Model
 * Studio, "Wan image generation"; ModelArk, "Image generation API".
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
