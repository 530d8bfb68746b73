import { mediaOfUrl } from '../../protocols/canonical/media.ts'
import { unsupportedField } from '../../protocols/canonical/reading.ts'
import type { ProviderCall } from '../../protocols/dialect/provider.ts'
import { addressOf } from '../shared/sent-images.ts'
import type { ScannedBody } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import { arrayOr, listOf, present, textOr, wordOf, type JsonRecord } from '../../json/json-value.ts'
import {
  jsonAnswer,
  recordIn,
  sentSeconds,
  unusable,
  withBody,
} from '../../transport/json-steps.ts'
import type { Walk } from '../../transport/upstream-steps.ts'
import { nearestShape, sidesOf } from '../google/shapes.ts'
import { AS_USUAL, imageMember, WANTED } from '../shared/openai-images.ts'
import { membersOf, rewritten, takenOut } from '../shared/rewritten-body.ts'

/**
 * Image generation by models that Bedrock invokes, in OpenAI's format for clients. Sources: Amazon
 * Nova user guide, "Image generation and editing"; Amazon Bedrock user guide, "Amazon Titan Image
 * Generator", "Stable Image Core", "Stable Image Ultra" and "Stable Diffusion 3.5 Large".
 */

const AMAZONS = /(?:^|[./])amazon\.(?:nova-canvas|titan-image-generator)-/
const STABILITYS = /(?:^|[./])stability\.(?:stable-image-(?:core|ultra)|sd3)-/

export const isDrawing = (model: string): boolean => AMAZONS.test(model) || STABILITYS.test(model)

/**
 * Whether a model edits images. Stability's editing models are missing, since each has a format of
 * its own.
 */
export const isChanging = (model: string): boolean => AMAZONS.test(model)

/** Members without an effect on an image. */
const LEFT_BEHIND: ReadonlySet<string> = new Set('model user stream partial_images'.split(' '))

export function imageRequestEdits(body: ScannedBody, { model }: ProviderCall): MemberEdit[] {
  const asked = membersOf(body)
  const sent = AMAZONS.test(model) ? amazonsBody(asked) : stabilitysBody(asked)
  return rewritten(asked, { ...sent, ...present({ [WANTED]: asked[WANTED] }) })
}

function refuseUnsaid(members: JsonRecord): void {
  for (const [name, value] of Object.entries(members)) {
    if (name === WANTED || LEFT_BEHIND.has(name) || AS_USUAL.has(value)) continue
    if (name === 'output_format' && value === 'png') continue
    throw unsupportedField(name)
  }
}

/** Values of `quality` that mean Amazon's more expensive quality. */
const PREMIUM: ReadonlySet<unknown> = new Set(['premium', 'hd', 'high'])

/** Builds Amazon's body; Amazon's own parameters are passed on unchanged. */
function amazonsBody(asked: JsonRecord): JsonRecord {
  const { prompt, image, images, n, size, quality, seed, cfgScale, ...others } = asked
  const { negativeText, maskPrompt, similarityStrength, ...rest } = others
  const isPremium = PREMIUM.has(quality)
  refuseUnsaid({ ...rest, ...(isPremium ? {} : { quality: quality ?? null }) })
  const sides = sidesOf(size)
  const imageGenerationConfig = {
    numberOfImages: n ?? 1,
    ...sides,
    ...(isPremium ? { quality: 'premium' } : {}),
    ...present({ seed, cfgScale }),
  }
  const pictures = [
    ...listOf(image).map((picture) => bytesOf(picture, 'image')),
    ...listOf(images).map((picture) => bytesOf(picture, 'images')),
  ]
  const words = present({ text: prompt, negativeText })
  return {
    ...taskOf({ words, pictures, maskPrompt, similarityStrength }),
    imageGenerationConfig,
  }
}

/** Bytes of an image in base64. */
function bytesOf(picture: unknown, at: string): string {
  const source = mediaOfUrl(addressOf(picture), 'image', at)
  // The gateway fetches no URLs of clients.
  if (source.from !== 'data') throw unsupportedField(at)
  return source.data
}

interface Wish {
  words: JsonRecord
  pictures: readonly string[]
  maskPrompt: unknown
  similarityStrength: unknown
}

/**
 * Selects the task: with a mask, only the described area is edited; otherwise a new image is
 * generated from the images sent.
 */
function taskOf({ words, pictures, maskPrompt, similarityStrength }: Wish): JsonRecord {
  const [picture] = pictures
  if (picture === undefined) {
    if (maskPrompt !== undefined) throw unsupportedField('maskPrompt')
    if (similarityStrength !== undefined) throw unsupportedField('similarityStrength')
    return { taskType: 'TEXT_IMAGE', textToImageParams: words }
  }
  if (maskPrompt === undefined) {
    const params = { ...words, images: pictures, ...present({ similarityStrength }) }
    return { taskType: 'IMAGE_VARIATION', imageVariationParams: params }
  }
  if (pictures.length > 1) throw unsupportedField('images')
  if (similarityStrength !== undefined) throw unsupportedField('similarityStrength')
  return { taskType: 'INPAINTING', inPaintingParams: { ...words, image: picture, maskPrompt } }
}

/** Aspect ratios of Stability's models. */
const SHAPES = ['16:9', '1:1', '21:9', '2:3', '3:2', '4:5', '5:4', '9:16', '9:21']
const FORMATS: ReadonlySet<unknown> = new Set(['png', 'jpeg'])

/** Builds Stability's body; one image per request. */
function stabilitysBody(asked: JsonRecord): JsonRecord {
  const { prompt, n, size, seed, negative_prompt: negative, output_format: format, ...rest } = asked
  if ((n ?? 1) !== 1) throw unsupportedField('n')
  if (format !== undefined && format !== null && !FORMATS.has(format)) {
    throw unsupportedField('output_format')
  }
  refuseUnsaid(rest)
  const sides = sidesOf(size)
  return present({
    prompt,
    negative_prompt: negative,
    aspect_ratio: sides === null ? undefined : nearestShape(sides, SHAPES),
    seed,
    output_format: format ?? undefined,
  })
}

/** Bedrock returns bytes; a client that requests a URL gets a `data:` URL. */
export const imageWalk: Walk = async (steps, request) => {
  const { value: wanted, sent } = takenOut(request, WANTED)
  const answer = await steps.fetch(withBody(request, sent))
  if (answer.status !== 200) return answer
  const { images, error, finish_reasons: reasons } = recordIn(answer)
  const mimeType = `image/${wordOf(sent.output_format) || 'png'}`
  const data = arrayOr(images)
    .map(textOr)
    // A filtered image may be an empty value.
    .filter(Boolean)
    .map((bytes) => imageMember({ mimeType, data: bytes }, wanted))
  if (data.length > 0) return jsonAnswer({ created: sentSeconds(answer), data })
  const message = textOr(error) || arrayOr(reasons).map(textOr).find(Boolean)
  if (message === undefined) return unusable('no picture was made')
  const refusal = { message, type: 'image_generation_user_error', code: 'content_filter' }
  return jsonAnswer({ error: refusal }, 400)
}
