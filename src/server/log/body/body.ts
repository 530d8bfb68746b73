/**
 * Decides which parts of a call's texts are captured, by the capture mode of its token. Pure
 * functions from bytes to text.
 */

/** Larger JSON texts are not parsed for their settings. */
export const METADATA_BYTES_MAX = 1024 * 1024
/** Bytes read beyond the limit, so that a secret across it is recognized. */
const SLACK_BYTES = 4096
/** Share of the limit for the end of a long text, which contains the latest message. */
const TAIL_SHARE = 0.25

const tailBytes = (bytesMax: number): number => Math.floor(bytesMax * TAIL_SHARE)

/**
 * Returns how many bytes of the beginning and of the end are needed to capture `bytesMax` bytes of
 * a text.
 */
export const bytesWanted = (bytesMax: number): { head: number; tail: number } => ({
  head: bytesMax - tailBytes(bytesMax) + SLACK_BYTES,
  tail: tailBytes(bytesMax) + SLACK_BYTES,
})

/** A text, or its beginning and end. */
export interface SeenText {
  head: string
  /** Empty if `head` is the whole text. */
  tail: string
  /** Total number of bytes. */
  bytes: number
}

/** The same parts as bytes. */
export interface SeenBytes {
  head: Buffer
  tail: Buffer
  bytes: number
}

const NOTHING = Buffer.alloc(0)

/**
 * Returns the parts needed to capture `bytesMax` bytes; copies them from a large buffer, so that it
 * can be freed.
 */
export function seenBytes(bytes: Buffer, bytesMax: number): SeenBytes {
  const { head, tail } = bytesWanted(bytesMax)
  if (bytes.length <= head + tail) return { head: bytes, tail: NOTHING, bytes: bytes.length }
  return {
    head: Buffer.from(bytes.subarray(0, head)),
    tail: Buffer.from(bytes.subarray(-tail)),
    bytes: bytes.length,
  }
}

export const seenText = ({ head, tail, bytes }: SeenBytes): SeenText => ({
  head: firstCharacters(head),
  tail: lastCharacters(tail, tail.length),
  bytes,
})

/**
 * Returns at most `bytesMax` bytes of a text, from its beginning and end, in whole characters, with
 * the number of omitted bytes in between. `isRedacted`: replaces credentials first.
 */
export function keptText(
  { head, tail, bytes }: SeenText,
  { bytesMax, isRedacted }: { bytesMax: number; isRedacted: boolean },
): string {
  const shown = isRedacted ? redacted(head) : head
  const encoded = Buffer.from(shown)
  if (tail === '' && encoded.length <= bytesMax) return shown
  const tailMax = tailBytes(bytesMax)
  const first = firstCharacters(encoded.subarray(0, bytesMax - tailMax))
  const last =
    tail === '' ? lastCharacters(encoded, tailMax) : keptTail(tail, { tailMax, isRedacted })
  const left = (tail === '' ? encoded.length : bytes) - bytesMax
  return `${first}… [${left} bytes left out] …${last}`
}

/** Matches the partial word or key file at the start of a text that begins in the middle. */
const CUT_THROUGH = /^(?:(?!-----BEGIN )[^])*?-----END [A-Z ]{0,30}PRIVATE KEY-----|^[^\s"'\\,;&]+/

/** Returns the end of a text, without parts that were not seen completely. */
function keptTail(
  text: string,
  { tailMax, isRedacted }: { tailMax: number; isRedacted: boolean },
): string {
  const end = lastCharacters(Buffer.from(text), tailMax)
  if (!isRedacted) return end
  const cut = CUT_THROUGH.exec(text)?.[0].length ?? 0
  const before = redacted(text.slice(cut, Math.max(cut, text.length - end.length)))
  const shown = redacted(text.slice(cut)).slice(before.length)
  return lastCharacters(Buffer.from(shown), tailMax)
}

function firstCharacters(bytes: Uint8Array): string {
  // A decoder in stream mode omits an incomplete character at the end.
  return new TextDecoder().decode(bytes, { stream: true })
}

/** Returns the last `bytesMax` bytes as text, without an incomplete character. */
function lastCharacters(bytes: Buffer, bytesMax: number): string {
  let from = Math.max(0, bytes.length - bytesMax)
  while (isInsideCharacter(bytes[from])) from += 1
  return bytes.toString('utf8', from)
}

const isInsideCharacter = (byte: number | undefined): boolean =>
  byte !== undefined && (byte & 0xc0) === 0x80

const MASK = '[redacted]'

/** Names of members and assignments whose value is always a secret. */
const SECRET_NAME =
  '[\\w-]*(?:passw(?:or)?d|passphrase|secret|api[_-]?key|private[_-]?key|access[_-]?key|' +
  '(?:access|auth|refresh|session|bearer)[_-]?token|authorization|credentials?)'

/**
 * Patterns of secrets, each with the number of groups before the secret and the text after it. The
 * input is arbitrary, so every pattern must take linear time: long parts start at the beginning of
 * their run, or have a maximum length.
 */
const SECRETS: readonly (readonly [pattern: RegExp, groups: number, end?: string])[] = [
  // Key files, also with escaped line ends; a truncated one extends to the end of the text.
  [/-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^]*?(?:-----END [A-Z ]{0,30}PRIVATE KEY-----|$)/g, 0],
  // Embedded files, which are large and not readable.
  [/(data:[\w.+-]{1,40}\/[\w.+-]{1,80};base64,)[A-Za-z0-9+/=_-]{64,}/g, 1],
  // Checks first, once per run, whether the run ends like one with a JSON web token.
  [/(?<![\w-])(?=[\w-]+\.[\w-]{8,}\.[\w-]{8})([\w-]*?\b|)eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}/g, 1],
  [/\b(Bearer|Basic)(\s+)[\w.~+/=-]{12,}/gi, 2],
  [/(:\/\/[^\s/:@"']{1,100}:)[^\s/@"']{1,200}@/g, 1, '@'],
  [/\b(?:sk|pk|rk|xai|gsk|hf|glpat|npm|r8)[-_][A-Za-z0-9][\w-]{14,}/g, 0],
  [/\b(?:gh[pousr]|github_pat)_\w{20,}/g, 0],
  [/\bxox[a-z]-[\w-]{10,}/g, 0],
  [/\bAIza[\w-]{30,}/g, 0],
  [/\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g, 0],
  [new RegExp(`(\\\\?"${SECRET_NAME}\\\\?"\\s*:\\s*\\\\?")[^"\\\\]{1,4000}`, 'gi'), 1],
  [new RegExp(`((?<![\\w-])${SECRET_NAME}\\s*[=:]\\s*)[^\\s"'\\\\,;&]{4,500}`, 'gi'), 1],
]

const masked = (): string => MASK

/** Replaces credentials in a text; `mask` returns the replacement. */
export function redacted(text: string, mask: (secret: string) => string = masked): string {
  return SECRETS.reduce(
    (done, [pattern, groups, end = '']) =>
      done.replace(pattern, (match: string, ...captured: unknown[]) => {
        const before = captured.slice(0, groups).join('')
        return before + mask(match.slice(before.length, match.length - end.length)) + end
      }),
    text,
  )
}

/** Members of a request that are settings without user content. */
const SETTINGS: ReadonlySet<string> = new Set([
  'model',
  'stream',
  'n',
  'temperature',
  'top_p',
  'top_k',
  'max_tokens',
  'max_completion_tokens',
  'max_output_tokens',
  'presence_penalty',
  'frequency_penalty',
  'seed',
  'logprobs',
  'top_logprobs',
  'parallel_tool_calls',
  'reasoning_effort',
  'service_tier',
  'dimensions',
  'encoding_format',
  'size',
  'quality',
])
const SETTING_LENGTH_MAX = 100

/** Returns a summary of a request without its content: settings, and sizes of everything else. */
export function requestMetadata(bytes: Buffer): string {
  const facts: Record<string, unknown> = { bytes: bytes.length }
  if (bytes.length <= METADATA_BYTES_MAX) Object.assign(facts, settingsOf(bytes.toString('utf8')))
  return JSON.stringify(facts)
}

export const responseMetadata = (bytes: number): string => JSON.stringify({ bytes })

function settingsOf(text: string): Record<string, unknown> {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    return {}
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return {}
  return Object.fromEntries(
    Object.entries(parsed).map(([name, value]) => [
      name.slice(0, SETTING_LENGTH_MAX),
      SETTINGS.has(name) ? settingOf(value) : amountOf(value),
    ]),
  )
}

const settingOf = (value: unknown): unknown =>
  typeof value === 'string' && value.length > SETTING_LENGTH_MAX
    ? amountOf(value)
    : typeof value === 'object' && value !== null
      ? amountOf(value)
      : value

/** Returns `{ items: 3 }`, `{ characters: 12 }` or `{ members: 2 }`. */
function amountOf(value: unknown): unknown {
  if (Array.isArray(value)) return { items: value.length }
  if (typeof value === 'string') return { characters: value.length }
  if (typeof value === 'object' && value !== null) return { members: Object.keys(value).length }
  return typeof value
}
