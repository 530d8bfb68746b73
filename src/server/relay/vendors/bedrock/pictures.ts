import { mediaOfUrl } from '../../canonical/media.ts'
import { unsupportedField } from '../../canonical/reading.ts'
import type { ProviderCall } from '../../dialect/provider.ts'
import { addressOf } from '../../images/sent-pictures.ts'
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
import { AS_USUAL, pictureMember, WANTED } from '../../providers/openai-pictures.ts'
import { membersOf, rewritten, takenOut } from '../../providers/rewritten-body.ts'

/**
 * Pictures by models that Bedrock invokes, asked for as OpenAI's clients do. Sources: Amazon Nova
 * user guide, "Image generation and editing"; Amazon Bedrock user guide, "Amazon Titan Image
 * Generator", "Stable Image Core", "Stable Image Ultra" and "Stable Diffusion 3.5 Large".
 */

const AMAZONS = /(?:^|[./])amazon\.(?:nova-canvas|titan-image-generator)-/
const STABILITYS = /(?:^|[./])stability\.(?:stable-image-(?:core|ultra)|sd3)-/

export const isDrawing = (model: string): boolean => AMAZONS.test(model) || STABILITYS.test(model)

/** Stability's models that change pictures have each a body of its own, and are missing here. */
export const isChanging = (model: string): boolean => AMAZONS.test(model)

/** Members that change nothing about a picture. */
const LEFT_BEHIND: ReadonlySet<string> = new Set('model user stream partial_images'.split(' '))

export function pictureEdits(body: ScannedBody, { model }: ProviderCall): MemberEdit[] {
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

/** Words for the dearer of the two qualities. */
const PREMIUM: ReadonlySet<unknown> = new Set(['premium', 'hd', 'high'])

/** Amazon's own words for the figures of a picture go along as they are. */
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

/** In base64. */
function bytesOf(picture: unknown, at: string): string {
  const source = mediaOfUrl(addressOf(picture), 'image', at)
  // It would have to be fetched, and from where?
  if (source.from !== 'data') throw unsupportedField(at)
  return source.data
}

interface Wish {
  words: JsonRecord
  pictures: readonly string[]
  maskPrompt: unknown
  similarityStrength: unknown
}

/** What is said to be changed is changed alone, else the picture is drawn anew after those sent. */
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

/** Shapes that Stability's models draw. */
const SHAPES = ['16:9', '1:1', '21:9', '2:3', '3:2', '4:5', '5:4', '9:16', '9:21']
const FORMATS: ReadonlySet<unknown> = new Set(['png', 'jpeg'])

/** One picture a call. */
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

/** Pictures come as their bytes; who wants an address is given one that holds them. */
export const pictureWalk: Walk = async (steps, request) => {
  const { value: wanted, sent } = takenOut(request, WANTED)
  const answer = await steps.fetch(withBody(request, sent))
  if (answer.status !== 200) return answer
  const { images, error, finish_reasons: reasons } = recordIn(answer)
  const mimeType = `image/${wordOf(sent.output_format) || 'png'}`
  const data = arrayOr(images)
    .map(textOr)
    // What is refused may come as nothing.
    .filter(Boolean)
    .map((bytes) => pictureMember({ mimeType, data: bytes }, wanted))
  if (data.length > 0) return jsonAnswer({ created: sentSeconds(answer), data })
  const message = textOr(error) || arrayOr(reasons).map(textOr).find(Boolean)
  if (message === undefined) return unusable('no picture was made')
  const refusal = { message, type: 'image_generation_user_error', code: 'content_filter' }
  return jsonAnswer({ error: refusal }, 400)
}
