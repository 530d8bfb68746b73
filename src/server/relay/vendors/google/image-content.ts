import { mediaOfUrl } from '../../protocols/canonical/media.ts'
import { unsupportedField } from '../../protocols/canonical/reading.ts'
import { USAGE_TOKENS_MAX, type TokenUsage } from '../../protocols/canonical/token-usage.ts'
import type { ProviderCall } from '../../protocols/dialect/provider.ts'
import { addressOf } from '../shared/sent-images.ts'
import type { ScannedBody } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import { listOf, present, recordOr, textOr, type JsonRecord } from '../../json/json-value.ts'
import { writePromptDetails } from '../../protocols/openai-chat/usage.ts'
import { jsonAnswer, recordIn, sentSeconds, withBody } from '../../transport/json-steps.ts'
import type { UpstreamRequest } from '../../transport/upstream-call.ts'
import type { Steps, Walk } from '../../transport/upstream-steps.ts'
import { AS_USUAL, FILES_LENGTH_MAX, imageMember, WANTED } from '../shared/openai-images.ts'
import { membersOf, rewritten } from '../shared/rewritten-body.ts'
import { inlinePartsOf, refusalIn, usageOfAll } from './content-answer.ts'
import { nearestShape, sidesOf } from './shapes.ts'

/**
 * Image generation and editing by Gemini's chat models, in OpenAI's format. Source: Gemini API,
 * "Image generation".
 */

/** Members without an effect on an image. */
const LEFT_BEHIND: ReadonlySet<string> = new Set('model user stream partial_images'.split(' '))
/** Aspect ratios that all of these models support. */
const SHAPES = ['1:1', '2:3', '3:2', '3:4', '4:3', '4:5', '5:4', '9:16', '16:9', '21:9']
/** Models that generate an image only together with text. */
const TALKS = /gemini-2\.0-/
/** Models that generate images in one size only. */
const ONE_SIZE = /gemini-2\./
/** Maximum side of a square image, in pixels, and Gemini's name of the size. */
const SIZES: readonly [side: number, name: string][] = [
  [1448, '1K'],
  [2896, '2K'],
]
const LARGEST = '4K'

/**
 * Number of images: the walk reads it and does not send it, since each request generates one image.
 */
const COUNT = 'n'

export function drawnEdits(body: ScannedBody, { model }: ProviderCall): MemberEdit[] {
  const asked = membersOf(body)
  const { prompt, image, images, imageConfig, safetySettings, ...others } = asked
  const { [COUNT]: count, [WANTED]: wanted, size, ...rest } = others
  for (const [name, value] of Object.entries(rest)) refuseUnsaid(name, value)
  const sent = [
    ...listOf(image).map((picture) => inlinePart(picture, 'image')),
    ...listOf(images).map((picture) => inlinePart(picture, 'images')),
  ]
  const config = { ...sizeConfig(size, model), ...recordOr(imageConfig) }
  return rewritten(asked, {
    contents: [{ role: 'user', parts: [{ text: prompt }, ...sent] }],
    generationConfig: {
      responseModalities: TALKS.test(model) ? ['TEXT', 'IMAGE'] : ['IMAGE'],
      ...(Object.keys(config).length === 0 ? {} : { imageConfig: config }),
    },
    ...present({ safetySettings, [COUNT]: count, [WANTED]: wanted }),
  })
}

function inlinePart(picture: unknown, at: string): JsonRecord {
  const source = mediaOfUrl(addressOf(picture), 'image', at)
  // The gateway does not fetch URLs of clients.
  if (source.from !== 'data') throw unsupportedField(at)
  return { inlineData: { mimeType: source.mimeType, data: source.data } }
}

function refuseUnsaid(name: string, value: unknown): void {
  if (LEFT_BEHIND.has(name) || AS_USUAL.has(value)) return
  if (name === 'output_format' && value === 'png') return
  throw unsupportedField(name)
}

function sizeConfig(size: unknown, model: string): JsonRecord {
  const sides = sidesOf(size)
  if (sides === null) return {}
  const aspectRatio = nearestShape(sides, SHAPES)
  const side = Math.sqrt(sides.width * sides.height)
  const name = SIZES.find(([most]) => side <= most)?.[1] ?? LARGEST
  const isUsual = name === SIZES[0]?.[1]
  if (isUsual) return { aspectRatio }
  if (ONE_SIZE.test(model)) throw unsupportedField('size')
  return { aspectRatio, imageSize: name }
}

/** Sends one request per image. */
export const drawnWalk: Walk = async (steps, request) => {
  const { [WANTED]: wanted, [COUNT]: count, ...sent } = recordIn(request)
  const drawing = withBody(request, sent)
  const endMs = performance.now() + drawing.firstByteTimeoutMs
  const answer = await steps.fetch(drawing)
  if (answer.status !== 200) return answer
  const first = recordIn(answer)
  const others = await othersDrawn(steps, drawing, {
    count: (Number(count ?? 1) || 1) - 1,
    endMs,
    lengthMax: FILES_LENGTH_MAX - answer.body.length,
  })
  const answers = [first, ...others]
  const data = answers.flatMap(imagesIn).map((picture) => imageMember(picture, wanted))
  if (data.length === 0) return refusalIn(first, 'image_generation_user_error')
  const usage = usageOfAll(answers, USAGE_TOKENS_MAX)
  return jsonAnswer({
    created: sentSeconds(answer),
    data,
    ...(usage === null ? {} : { usage: writtenUsage(usage) }),
  })
}

/**
 * Generates further images until a request fails; the images so far have been charged and are
 * returned. All requests together have the timeout of one whole response.
 */
async function othersDrawn(
  steps: Steps,
  drawing: UpstreamRequest,
  { count, endMs, lengthMax }: { count: number; endMs: number; lengthMax: number },
): Promise<JsonRecord[]> {
  const answers: JsonRecord[] = []
  let length = 0
  while (answers.length < count) {
    const leftMs = endMs - performance.now()
    if (leftMs <= 0) break
    const next = { ...drawing, firstByteTimeoutMs: Math.ceil(leftMs) }
    const answer = await steps.fetch(next).catch((error: unknown) => {
      if (steps.isAborted) throw error
      return null
    })
    length += answer?.body.length ?? 0
    if (answer === null || answer.status !== 200 || length > lengthMax) break
    answers.push(recordIn(answer))
  }
  return answers
}

/** Images that the model drafts while it reasons are not part of the result. */
const imagesIn = (answer: JsonRecord): JsonRecord[] =>
  inlinePartsOf(answer).filter(({ mimeType }) => textOr(mimeType).startsWith('image/'))

/** Usage in OpenAI's format for images; text and reasoning beside the images have another price. */
function writtenUsage(usage: TokenUsage): JsonRecord {
  const { promptTokens, completionTokens, reasoningTokens, extras = {} } = usage
  const drawn = extras.imageCompletionTokens ?? completionTokens - reasoningTokens
  const { image_tokens: seen = 0, ...prompt } = writePromptDetails(usage)
  return {
    input_tokens: promptTokens,
    input_tokens_details: {
      ...prompt,
      image_tokens: seen,
      text_tokens: promptTokens - Number(seen),
    },
    output_tokens: completionTokens,
    output_tokens_details: { image_tokens: drawn, text_tokens: completionTokens - drawn },
    total_tokens: promptTokens + completionTokens,
  }
}
