import { memberRange } from '../json/body-scan.ts'
import type { ByteRange, ScannedBody } from '../json/body-scan.ts'
import { skipSpace } from '../../json/json-scan.ts'
import { HEADER_BYTES_MAX } from './image-size.ts'
import { imageTokens } from './image-tokens.ts'

/**
 * Estimates that cost nothing: for reservations, which need a figure before the upstream is asked
 * and are corrected when it answers, and for installations that count approximately on purpose.
 */

const TOKENS_PER_BYTE = 0.38

/** How One API's approximate mode counts a text of that many UTF-8 bytes. */
export const approximateTokens = (byteCount: number): number =>
  Math.floor(byteCount * TOKENS_PER_BYTE)

/** Members of which the prompt is made, on any surface. */
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
 * Prompt tokens of a request, estimated from its bytes without decoding them: 0.38 tokens a byte,
 * quotes and braces included. Ordinary prose and code come to less (English counts 0.2 to 0.27 a
 * byte, Chinese 0.25 to 0.4), so that a reservation made with it rarely needs extending. Text that
 * compresses badly, such as random base64 (0.6) or rare emoji (0.75), comes to more: this is no
 * bound, and settling never uses it.
 *
 * Images inside the request count by the model's rule for an image of unknown size, not by their
 * bytes. A text could pose as such data and be reserved too low; what it really cost is taken when
 * it is settled.
 */
export function estimatePromptTokens(body: ScannedBody, model: string): number {
  let byteCount = 0
  let images = 0
  for (const name of PROMPT_MEMBERS) {
    const range = memberRange(body, name)
    if (range === null) continue
    byteCount += range.end - range.start
    // Nothing shorter holds one, and most prompts are shorter.
    if (range.end - range.start < IMAGE_PART_BYTES_MIN) continue
    const bytes = body.bytes.subarray(range.start, range.end)
    images += countImageKeys(bytes)
    for (const data of base64Runs(bytes)) byteCount -= data.end - data.start
  }
  const tokens = approximateTokens(byteCount)
  return images === 0 ? tokens : tokens + images * imageTokens(model, undefined, 'high')
}

const IMAGE_PART_BYTES_MIN = 24
/** Inside a text its quotes would be escaped. */
const IMAGE_KEY = '"image_url"'
const COLON = 0x3a
const DATA_MARK = ';base64,'

/** As a key only: a part names its type by the same word. */
function countImageKeys(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(IMAGE_KEY); at >= 0; at = bytes.indexOf(IMAGE_KEY, at + 1)) {
    if (bytes[skipSpace(bytes, at + IMAGE_KEY.length)] === COLON) count++
  }
  return count
}

/** What is kept of the data of a picture: as much as may stand before its size. */
const DATA_LENGTH_MAX = Math.ceil(HEADER_BYTES_MAX / 3) * 4
const BACKSLASH = 0x5c

/** The same JSON, with no more of the pictures inside it than tells their sizes. */
export function withoutPictureData(json: Buffer): Buffer {
  const pieces: Buffer[] = []
  let from = 0
  for (const { start, end } of base64Runs(json)) {
    // No escape is cut through: one that begins or ends here stays whole.
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

/** The base64 after each mark. Some encoders escape every slash, hence the backslash. */
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
