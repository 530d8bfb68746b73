import { memberRange } from '../json/body-scan.ts'
import type { ByteRange, ScannedBody } from '../json/body-scan.ts'
import { skipSpace } from '../../json/json-scan.ts'
import { HEADER_BYTES_MAX } from './image-size.ts'
import { imageTokens } from './image-tokens.ts'

/**
 * Cheap estimates: for reservations, which are made before the upstream is called and corrected
 * afterwards, and for installations that are configured to count approximately.
 */

const TOKENS_PER_BYTE = 0.38

/** Tokens of a text by its UTF-8 bytes, as in One API's approximate mode. */
export const approximateTokens = (byteCount: number): number =>
  Math.floor(byteCount * TOKENS_PER_BYTE)

/** Members of the prompt, on any endpoint. */
const PROMPT_MEMBERS = [
  'messages',
  'prompt',
  'input',
  'instructions',
  'system',
  'contents',
  'content',
  'requests',
  'systemInstruction',
  'system_instruction',
  'tools',
  'functions',
  'response_format',
] as const

/**
 * Estimates the prompt tokens of a request from its bytes without decoding them: 0.38 tokens a
 * byte, quotes and braces included. Ordinary prose and code have fewer (English 0.2 to 0.27 a byte,
 * Chinese 0.25 to 0.4), so that a reservation rarely needs extending. Text that compresses badly,
 * such as random base64 (0.6) or rare emoji (0.75), has more: this is not an upper bound, and
 * settling never uses it.
 *
 * Images inside the request count by the model's rule for an image of unknown size, not by their
 * bytes. A text could imitate such data and be reserved too low; settling charges the real usage.
 */
export function estimatePromptTokens(body: ScannedBody, model: string): number {
  let byteCount = 0
  let images = 0
  for (const name of PROMPT_MEMBERS) {
    const range = memberRange(body, name)
    if (range === null) continue
    byteCount += range.end - range.start
    // Shorter bodies, as most are, cannot contain an image.
    if (range.end - range.start < IMAGE_PART_BYTES_MIN) continue
    const bytes = body.bytes.subarray(range.start, range.end)
    images += countImageKeys(bytes)
    for (const data of base64Runs(bytes)) byteCount -= data.end - data.start
  }
  const tokens = approximateTokens(byteCount)
  return images === 0 ? tokens : tokens + images * imageTokens(model, undefined, 'high')
}

const IMAGE_PART_BYTES_MIN = 24
/** Matches JSON outside of texts only, where these quotes would be escaped. */
const IMAGE_KEY = '"image_url"'
const COLON = 0x3a
const DATA_MARK = ';base64,'

/** Matches a key only: the value of a part's `type` has the same name. */
function countImageKeys(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(IMAGE_KEY); at >= 0; at = bytes.indexOf(IMAGE_KEY, at + 1)) {
    if (bytes[skipSpace(bytes, at + IMAGE_KEY.length)] === COLON) count++
  }
  return count
}

/** Length of image data that is kept: enough to contain the size. */
const DATA_LENGTH_MAX = Math.ceil(HEADER_BYTES_MAX / 3) * 4
const BACKSLASH = 0x5c

/** Shortens the images in the JSON to what is needed to read their sizes. */
export function withoutImageData(json: Buffer): Buffer {
  const pieces: Buffer[] = []
  let from = 0
  for (const { start, end } of base64Runs(json)) {
    // Never cuts through an escape: one at the border stays whole.
    let gap = start + DATA_LENGTH_MAX
    while (gap > start && json[gap - 1] === BACKSLASH) gap--
    let rest = end
    while (rest > gap && json[rest - 1] === BACKSLASH) rest--
    if (rest <= gap) continue
    pieces.push(json.subarray(from, gap))
    from = rest
  }
  return pieces.length === 0 ? json : Buffer.concat([...pieces, json.subarray(from)])
}

/** Finds the base64 after each mark. Some encoders escape every slash, hence the backslash. */
function* base64Runs(bytes: Buffer): Generator<ByteRange> {
  for (let at = bytes.indexOf(DATA_MARK); at >= 0; at = bytes.indexOf(DATA_MARK, at)) {
    const start = at + DATA_MARK.length
    let end = start
    while (IS_BASE64[bytes[end] ?? 0] === 1) end++
    yield { start, end }
    at = end
  }
}

const IS_BASE64 = new Uint8Array(256)
for (const byte of Buffer.from(
  'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\\',
)) {
  IS_BASE64[byte] = 1
}
