import { meteringFigures } from '../../model/model-table.ts'
import {
  type FieldProblem,
  type RequestFigures,
  type SurfaceRequest,
  type Metering,
  countMember,
  flagMember,
  invalid,
  textMember,
} from '../protocols/dialect/surface.ts'
import { AppError } from '../../app-error.ts'
import {
  checkedFigures,
  countedUsage,
  type TokenUsage,
  type UsageReading,
  USAGE_TOKENS_MAX,
} from '../protocols/canonical/token-usage.ts'
import { estimatePromptTokens } from '../count/estimate.ts'
import type { AnswerReading } from '../protocols/dialect/dialect.ts'
import { dialects } from '../conversion/dialects.ts'
import { memberBytes, memberValue, scanAnswer, type ScannedBody } from '../json/body-scan.ts'
import { arrayOr, parseJson, recordOr, wordOf, type JsonRecord } from '../json/json-value.ts'
import { TypedStream } from './media-stream.ts'
import { readOpenaiAnswer } from '../protocols/openai-chat/openai-answer.ts'
import { readUsage } from '../protocols/openai-chat/usage.ts'
import { shown } from '../protocols/dialect/relay-error.ts'
import { generatedImageTokens, ownSize } from './generated-image-tokens.ts'
import { ANY_COUNT, groupOf, ownImageCount } from './image-count.ts'
import { sentImageTokens } from '../vendors/shared/sent-images.ts'

/**
 * Image generation and image editing. Models that count tokens are charged by the usage that the
 * upstream reports. All others, and those without reported usage, are charged by the image: the
 * number received, their size and quality. Source: OpenAI's API reference, "Images".
 */
interface Wish {
  /** Number of images, as in OpenAI's `n`: a stream ends after this many completed events. */
  count: number
  /** Maximum number of images that can be returned. */
  countMax: number
  size: string
  quality: string
  /**
   * Tokens of one image, if the model is priced only by tokens; 0 if priced by the image when no
   * tokens are reported.
   */
  tokensApiece: number
}

const IMAGES_MAX = 10

/** Output tokens that OpenAI charges for each partial image of a stream. */
const PARTIAL_IMAGE_TOKENS = 100

/** The last event of each image, generated or edited. */
type Completed = 'image_generation.completed' | 'image_edit.completed'

/** Returns the figures of an image request, or the problem if it is invalid. */
export function imageFigures(
  request: SurfaceRequest,
  completed: Completed = 'image_generation.completed',
): RequestFigures | FieldProblem {
  const { body, form, model } = request
  const prompt = textMember(body, 'prompt')
  if (prompt === null) return invalid('prompt')
  if (prompt === '') throw new AppError('picture_prompt_missing')
  const said = countMember(body, 'n', { min: -Infinity, max: Infinity, otherwise: 1 })
  const isText = form === null && typeof memberValue(body, 'n') === 'string'
  if (said === null || isText) return invalid('n')
  // Some clients send 0 for a missing value.
  const count = said === 0 ? 1 : said
  if (count < 1 || count > IMAGES_MAX) {
    throw new AppError('picture_count_out_of_range', { model: shown(model), max: IMAGES_MAX })
  }
  const size = textMember(body, 'size')
  const quality = textMember(body, 'quality')
  const isStream = flagMember(body, 'stream')
  if (size === null) return invalid('size')
  if (quality === null) return invalid('quality')
  if (isStream === null) return invalid('stream')
  const partials = countMember(body, 'partial_images', ANY_COUNT)
  if (partials === null) return invalid('partial_images')
  const ownCount = ownImageCount(body)
  if (typeof ownCount === 'object') return ownCount
  return {
    maxCompletionTokens: 0,
    isStream,
    wantsUsage: false,
    metering(pricedAs, { traits, byImageToken }) {
      const countMax = Math.max(count, ownCount, groupOf(body, traits))
      const drawn = ownSize(body, pricedAs) ?? drawnSize(body, size, pricedAs)
      const tokensApiece = byImageToken ? (generatedImageTokens(pricedAs, drawn) ?? 0) : 0
      const wish: Wish = { count, countMax, size: drawn, quality, tokensApiece }
      const estimate = byImageToken
        ? tokensOf(request, wish, { pricedAs, partials: isStream ? partials : 0 })
        : piecesOf({ count: countMax, size: drawn, quality }, 0)
      return { estimate, reading: readingOf(wish, completed) }
    },
  }
}

/** Returns the size that has the price; '' if unknown. xAI uses `resolution` and has no `size`. */
function drawnSize(body: ScannedBody, size: string, pricedAs: string): string {
  const { image_resolutions: resolutions } = meteringFigures(pricedAs)
  if (resolutions !== undefined) {
    const resolution = textMember(body, 'resolution')?.toLowerCase() ?? 'unknown'
    return (Object.hasOwn(resolutions, resolution) && resolutions[resolution]) || resolution
  }
  if (size === 'auto') return ''
  return size || (pricedAs.startsWith('dall-e') ? '1024x1024' : '')
}

/**
 * Returns images with their input tokens, for models priced by the token: each of several images
 * reads the prompt again.
 */
function tokensOf(
  { body, form }: SurfaceRequest,
  { countMax, size, quality, tokensApiece }: Wish,
  { pricedAs, partials }: { pricedAs: string; partials: number },
): TokenUsage {
  const textTokens = estimatePromptTokens(body, pricedAs) * countMax
  const imagePromptTokens = sentImageTokens({ body, form }, pricedAs) * countMax
  const partialTokens = PARTIAL_IMAGE_TOKENS * partials * countMax
  const pieces = piecesOf({ count: countMax, size, quality, partialTokens }, tokensApiece)
  const promptTokens = textTokens + imagePromptTokens
  return { ...pieces, promptTokens, extras: { ...pieces.extras, imagePromptTokens } }
}

/** Returns the usage of images without reported tokens. */
function piecesOf(
  pictures: { count: number; size: string; quality: string; partialTokens?: number },
  tokensApiece: number,
): TokenUsage {
  const imageCompletionTokens = tokensApiece * pictures.count
  const drawn = imageCompletionTokens === 0 ? {} : { imageCompletionTokens }
  return { ...countedUsage(0, imageCompletionTokens), extras: { ...drawn, pictures } }
}

function readingOf(wish: Wish, completed: Completed): Metering['reading'] {
  return {
    ...dialects.openai,
    readAnswer: (bytes) => read(bytes, wish),
    readStream() {
      let came = 0
      let completions = 0
      return new TypedStream({
        isLast: (type) => /^image_(?:generation|edit)\.completed$/.test(type),
        lastEvents: wish.count,
        usageOf(event) {
          const type = wordOf(event.type)
          if (ONE_OF_SEVERAL.test(type)) came += 1
          else if (!type.endsWith('.completed')) return null
          else {
            completions += 1
            came = Math.max(came, reportedImages(event.usage, wish) ?? completions)
          }
          const usage = readUsage(event.usage, USAGE_TOKENS_MAX)
          return withImages(usage, event.usage, { ...wish, pictures: came })
        },
      })
    },
    wholeAsEvents: (answer) =>
      arrayOr(answer.data).map((picture) => {
        const event = { type: completed, ...recordOr(picture), usage: answer.usage }
        return { name: completed, data: JSON.stringify(event) }
      }),
    end: null,
  }
}

/**
 * The event of one of several images, from Ark and MiniMax, whose image editing also returns
 * several. In their streams, the event that otherwise ends one image ends the call. Source:
 * MiniMax's API reference, "Streaming Events".
 */
const ONE_OF_SEVERAL = /^image_(?:generation|edit)\.partial_succeeded$/

/**
 * Returns the number of images that an upstream reports; null if missing or above the number
 * requested.
 */
function reportedImages(usage: unknown, { countMax }: Wish): number | null {
  const told = recordOr(usage).generated_images
  const isCount = typeof told === 'number' && Number.isInteger(told) && told >= 0
  return isCount && told <= countMax ? told : null
}

function read(bytes: Buffer, wish: Wish): AnswerReading {
  const reading = readOpenaiAnswer(bytes)
  if (reading.kind !== 'ok') return reading
  const answer = scanAnswer(bytes)
  const data = answer === null ? null : memberBytes(answer, 'data')
  if (answer === null || data === null) return { kind: 'malformed' }
  const usage = memberValue(answer, 'usage')
  const pictures = imagesIn(data)
  // This channel's response has no image; another channel may generate it.
  if (pictures === 0) return { kind: 'malformed' }
  return { ...reading, usage: withImages(reading.usage, usage, { ...wish, pictures }) }
}

const imagesIn = (data: Buffer): number => elementsOf(data).filter(isImage).length

/** Elements up to this size are parsed; larger ones hold an image's bytes. */
const ELEMENT_BYTES_MAX = 64 * 1024

function isImage(element: Buffer): boolean {
  if (element.length > ELEMENT_BYTES_MAX) return true
  const { url, b64_json: bytes } = recordOr(parseJson(element.toString('utf8')))
  return [url, bytes].some((sent) => typeof sent === 'string' && sent !== '')
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPENING: ReadonlySet<number> = new Set([0x5b, 0x7b])
const CLOSING: ReadonlySet<number> = new Set([0x5d, 0x7d])

/** Returns the objects of a JSON list without decoding the megabytes of text inside them. */
function elementsOf(list: Buffer): Buffer[] {
  const elements: Buffer[] = []
  let depth = 0
  let start = 0
  for (let at = 0; at < list.length; at += 1) {
    const byte = list[at] ?? 0
    if (byte === QUOTE) at = endOfText(list, at)
    else if (OPENING.has(byte)) {
      depth += 1
      if (depth === 2) start = at
    } else if (CLOSING.has(byte)) {
      if (depth === 2) elements.push(list.subarray(start, at + 1))
      depth -= 1
    }
  }
  return elements
}

/** Returns the offset of the quote that ends the string which begins here. */
function endOfText(list: Buffer, from: number): number {
  for (let at = list.indexOf(QUOTE, from + 1); at >= 0; at = list.indexOf(QUOTE, at + 1)) {
    let slashes = 0
    while (list[at - 1 - slashes] === BACKSLASH) slashes += 1
    if (slashes % 2 === 0) return at
  }
  return list.length
}

/**
 * Returns the images, and the tokens if the upstream counts any; the price decides which are
 * charged. Completion tokens are image tokens unless the upstream says otherwise.
 */
function withImages(
  reading: UsageReading,
  sent: unknown,
  { pictures, size, quality, tokensApiece }: Wish & { pictures: number },
): UsageReading {
  const came = { count: pictures, size, quality }
  if (reading.usage === null) {
    // The number of images is known, so usage without any figures needs no estimate.
    return { usage: piecesOf(came, tokensApiece), fault: null, notes: [] }
  }
  const { usage } = reading
  const texts = checkedFigures(
    { tokens: detailsOf(sent).text_tokens },
    () => usage.completionTokens,
  )
  // An invalid figure is ignored.
  const textTokens = typeof texts === 'string' ? 0 : (texts.tokens ?? 0)
  const imageCompletionTokens = usage.completionTokens - textTokens
  const extras = { ...usage.extras, imageCompletionTokens, pictures: came }
  return { ...reading, usage: { ...usage, extras } }
}

const detailsOf = (usage: unknown): JsonRecord => recordOr(recordOr(usage).output_tokens_details)
