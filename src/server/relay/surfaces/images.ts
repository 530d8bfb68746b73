import { meteringFigures } from '../../model/model-table.ts'
import type { FieldProblem, RequestFigures, SurfaceRequest } from '../dialect/surface.ts'
import { AppError } from '../../app-error.ts'
import {
  checkedFigures,
  countedUsage,
  type TokenUsage,
  type UsageReading,
  USAGE_TOKENS_MAX,
} from '../canonical/token-usage.ts'
import { estimatePromptTokens } from '../count/estimate.ts'
import type { AnswerReading } from '../dialect/dialect.ts'
import { dialects } from '../conversion/dialects.ts'
import type { Metering } from '../dialect/metering.ts'
import { memberBytes, memberValue, scanAnswer, type ScannedBody } from '../json/body-scan.ts'
import { arrayOr, parseJson, recordOr, wordOf, type JsonRecord } from '../json/json-value.ts'
import { countMember, flagMember, invalid, textMember } from '../dialect/fields.ts'
import { TypedStream } from '../media/typed-stream.ts'
import { readOpenaiAnswer } from '../openai/openai-answer.ts'
import { readUsage } from '../openai/usage.ts'
import { shown } from '../dialect/relay-error.ts'
import { drawnTokens, ownSize } from '../images/drawn-tokens.ts'
import { ANY_COUNT, groupOf, ownPictureCount } from '../images/picture-count.ts'
import { sentPictureTokens } from '../images/sent-pictures.ts'

/**
 * Pictures made from words, and pictures changed by words. Models that count tokens are charged by
 * what the upstream says it used; all others, and those when it says nothing, by the picture: how
 * many came, of which size and quality. Source: OpenAI's API reference, "Images".
 */
interface Wish {
  /** As OpenAI's word for it says: so many last events end a stream. */
  count: number
  /** What can come at most. */
  countMax: number
  size: string
  quality: string
  /** Tokens of one, where the model sells them by these alone; 0: by the piece, if nobody counts. */
  tokensApiece: number
}

const PICTURES_MAX = 10

/** What OpenAI charges for a picture that is shown before it is done. */
const PARTIAL_PICTURE_TOKENS = 100

/** The last event of each picture: of one that is made, and of one that is changed. */
type Completed = 'image_generation.completed' | 'image_edit.completed'

/** What a request for pictures asks for, or what is wrong with it. */
export function pictureFigures(
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
  // 0 is how some clients spell that they do not say.
  const count = said === 0 ? 1 : said
  if (count < 1 || count > PICTURES_MAX) {
    throw new AppError('picture_count_out_of_range', { model: shown(model), max: PICTURES_MAX })
  }
  const size = textMember(body, 'size')
  const quality = textMember(body, 'quality')
  const isStream = flagMember(body, 'stream')
  if (size === null) return invalid('size')
  if (quality === null) return invalid('quality')
  if (isStream === null) return invalid('stream')
  const partials = countMember(body, 'partial_images', ANY_COUNT)
  if (partials === null) return invalid('partial_images')
  const ownCount = ownPictureCount(body)
  if (typeof ownCount === 'object') return ownCount
  return {
    maxCompletionTokens: 0,
    isStream,
    wantsUsage: false,
    metering(pricedAs, { traits, byPictureToken }) {
      const countMax = Math.max(count, ownCount, groupOf(body, traits))
      const drawn = ownSize(body, pricedAs) ?? drawnSize(body, size, pricedAs)
      const tokensApiece = byPictureToken ? (drawnTokens(pricedAs, drawn) ?? 0) : 0
      const wish: Wish = { count, countMax, size: drawn, quality, tokensApiece }
      const estimate = byPictureToken
        ? tokensOf(request, wish, { pricedAs, partials: isStream ? partials : 0 })
        : piecesOf({ count: countMax, size: drawn, quality }, 0)
      return { estimate, reading: readingOf(wish, completed) }
    },
  }
}

/** The size that has the price; '': nobody knows. xAI draws by `resolution`, and knows no `size`. */
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
 * Pieces with what is read to draw them, by models that sell that by the token: each of several is
 * drawn from the prompt anew.
 */
function tokensOf(
  { body, form }: SurfaceRequest,
  { countMax, size, quality, tokensApiece }: Wish,
  { pricedAs, partials }: { pricedAs: string; partials: number },
): TokenUsage {
  const textTokens = estimatePromptTokens(body, pricedAs) * countMax
  const imagePromptTokens = sentPictureTokens({ body, form }, pricedAs) * countMax
  const partialTokens = PARTIAL_PICTURE_TOKENS * partials * countMax
  const pieces = piecesOf({ count: countMax, size, quality, partialTokens }, tokensApiece)
  const promptTokens = textTokens + imagePromptTokens
  return { ...pieces, promptTokens, extras: { ...pieces.extras, imagePromptTokens } }
}

/** Pictures that nobody has counted the tokens of. */
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
            came = Math.max(came, toldPictures(event.usage, wish) ?? completions)
          }
          const usage = readUsage(event.usage, USAGE_TOKENS_MAX)
          return withPictures(usage, event.usage, { ...wish, pictures: came })
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
 * A picture of several, by Ark and by MiniMax, who edits several, too; with them, what ends a
 * picture elsewhere ends the call. Source: MiniMax's API reference, "Streaming Events".
 */
const ONE_OF_SEVERAL = /^image_(?:generation|edit)\.partial_succeeded$/

/** How many an upstream says that it has made; null: it does not, or more than it was asked for. */
function toldPictures(usage: unknown, { countMax }: Wish): number | null {
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
  const pictures = picturesIn(data)
  // Somebody else may draw it.
  if (pictures === 0) return { kind: 'malformed' }
  return { ...reading, usage: withPictures(reading.usage, usage, { ...wish, pictures }) }
}

const picturesIn = (data: Buffer): number => elementsOf(data).filter(isPicture).length

/** Below it an element is short enough to be read; above it, it holds a picture's bytes. */
const ELEMENT_BYTES_MAX = 64 * 1024

function isPicture(element: Buffer): boolean {
  if (element.length > ELEMENT_BYTES_MAX) return true
  const { url, b64_json: bytes } = recordOr(parseJson(element.toString('utf8')))
  return [url, bytes].some((sent) => typeof sent === 'string' && sent !== '')
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPENING: ReadonlySet<number> = new Set([0x5b, 0x7b])
const CLOSING: ReadonlySet<number> = new Set([0x5d, 0x7d])

/** The objects of a JSON list, found without decoding the megabytes that stand in them. */
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

/** Where the quote is that ends the text which begins here. */
function endOfText(list: Buffer, from: number): number {
  for (let at = list.indexOf(QUOTE, from + 1); at >= 0; at = list.indexOf(QUOTE, at + 1)) {
    let slashes = 0
    while (list[at - 1 - slashes] === BACKSLASH) slashes += 1
    if (slashes % 2 === 0) return at
  }
  return list.length
}

/**
 * The pictures, and beside them the tokens if the upstream counts any; the price decides which of
 * them it is about. Completion tokens are the picture's unless the upstream says otherwise.
 */
function withPictures(
  reading: UsageReading,
  sent: unknown,
  { pictures, size, quality, tokensApiece }: Wish & { pictures: number },
): UsageReading {
  const came = { count: pictures, size, quality }
  if (reading.usage === null) {
    // What came is known: an upstream whose figures say nothing leaves nothing to guess.
    return { usage: piecesOf(came, tokensApiece), fault: null, notes: [] }
  }
  const { usage } = reading
  const texts = checkedFigures(
    { tokens: detailsOf(sent).text_tokens },
    () => usage.completionTokens,
  )
  // A figure that cannot be is none.
  const textTokens = typeof texts === 'string' ? 0 : (texts.tokens ?? 0)
  const imageCompletionTokens = usage.completionTokens - textTokens
  const extras = { ...usage.extras, imageCompletionTokens, pictures: came }
  return { ...reading, usage: { ...usage, extras } }
}

const detailsOf = (usage: unknown): JsonRecord => recordOr(recordOr(usage).output_tokens_details)
