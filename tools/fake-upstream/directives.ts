/**
 * The words that control the fake upstream, and their effects.
 *
 * A word may be part of a model name (`fail-429`, `gpt-4o-mini+slow-200`), of a path segment that
 * starts with `~` (so that a channel's base address can contain it), of the query (`?fake=`), or of
 * the header `x-fake-upstream`. Words are joined with `+` or a comma; unknown words are ignored.
 */
export type Directives = {
  /** Delay before the response headers, in milliseconds. */
  delayMs: number
  /** Delay before every stream event after the first, in milliseconds. */
  chunkDelayMs: number
  /** Number of content chunks of a stream; null for the recorded five. */
  chunks: number | null
  completionTokens: number | null
  promptTokens: number | null
  cachedTokens: number
  reasoningTokens: number
  /** Anthropic: tokens written to the cache, with a lifetime of minutes and of an hour. */
  cacheWriteTokens: number
  cacheWriteHourTokens: number
  refusal: Refusal | null
  /** Seconds in the `Retry-After` header of an error; null sends no header. */
  retryAfterSeconds: number | null
  trouble: Trouble | null
  /** Resets the socket after this many stream events, or bytes of a plain response. */
  cutAfter: number | null
  /** Number of first calls with this model and path that get a 500. */
  flakyCalls: number
  usage: UsageMode
  usageShape: UsageShape
  newline: '\n' | '\r\n' | '\r'
  bom: boolean
  splitUtf8: boolean
  oneByte: boolean
  keepAlives: boolean
  multiLineData: boolean
  noSpace: boolean
  noFinalNewline: boolean
  /** Minimum size of one line of a stream, in bytes. */
  bigLineBytes: number
  gzip: boolean
  /** Size of the decompressed response in MiB; 0 for an ordinary response. */
  bombMebibytes: number
  echo: boolean
  /** Chunk texts are the sending time, in microseconds of the monotonic clock. */
  stamp: boolean
  /** Ends the text at the request's `max_tokens`, with finish_reason `length`. */
  obeyMax: boolean
  /** Streams even if no stream was requested. */
  alwaysStreams: boolean
}

export type UsageMode = 'when-asked' | 'never' | 'always' | 'in-finish-chunk'
export type UsageShape = 'plain' | 'negative' | 'string' | 'huge' | 'nan' | 'fraction'
export type Refusal = {
  status: number
  body: 'error' | 'html' | 'empty'
  code: string
  /** The error message repeats the caller's key. */
  repeatsKey?: boolean
}
export type Trouble = (typeof troubles)[number]

const troubles = [
  'hang',
  'stall',
  'hang-mid-stream',
  'end-without-done',
  'error-mid-stream',
  'quota-mid-stream',
  'redirect',
  'html-200',
  'error-200',
  'json-when-stream',
  'bad-length-short',
  'bad-length-long',
  'chunked-no-end',
  'fail-cut',
] as const

const BOMB_MEBIBYTES = 256

const nothing: Directives = {
  delayMs: 0,
  chunkDelayMs: 0,
  chunks: null,
  completionTokens: null,
  promptTokens: null,
  cachedTokens: 0,
  reasoningTokens: 0,
  cacheWriteTokens: 0,
  cacheWriteHourTokens: 0,
  refusal: null,
  retryAfterSeconds: null,
  trouble: null,
  cutAfter: null,
  flakyCalls: 0,
  usage: 'when-asked',
  usageShape: 'plain',
  newline: '\n',
  bom: false,
  splitUtf8: false,
  oneByte: false,
  keepAlives: false,
  multiLineData: false,
  noSpace: false,
  noFinalNewline: false,
  bigLineBytes: 0,
  gzip: false,
  bombMebibytes: 0,
  echo: false,
  stamp: false,
  obeyMax: false,
  alwaysStreams: false,
}

const refuse = (status: number, code = `code_${status}`): Partial<Directives> => ({
  refusal: { status, body: 'error', code },
})

/** Words without a number. */
const words = new Map<string, Partial<Directives>>([
  ...troubles.map((trouble): [string, Partial<Directives>] => [trouble, { trouble }]),
  ['fail-quota', refuse(429, 'insufficient_quota')],
  ['fail-key', refuse(401, 'invalid_api_key')],
  ['fail-model', refuse(404, 'model_not_found')],
  ['fail-html', { refusal: { status: 502, body: 'html', code: '' } }],
  ['fail-empty', { refusal: { status: 200, body: 'empty', code: '' } }],
  ['empty-204', { refusal: { status: 204, body: 'empty', code: '' } }],
  [
    'secret-in-error',
    { refusal: { status: 401, body: 'error', code: 'invalid_api_key', repeatsKey: true } },
  ],
  ['always-streams', { alwaysStreams: true }],
  ['no-usage', { usage: 'never' }],
  ['usage-missing', { usage: 'never' }],
  ['always-usage', { usage: 'always' }],
  ['usage-in-last-choice-chunk', { usage: 'in-finish-chunk' }],
  ['usage-negative', { usageShape: 'negative' }],
  ['usage-string', { usageShape: 'string' }],
  ['usage-huge', { usageShape: 'huge' }],
  ['usage-nan', { usageShape: 'nan' }],
  ['usage-fraction', { usageShape: 'fraction' }],
  ['crlf', { newline: '\r\n' }],
  ['cr', { newline: '\r' }],
  ['bom', { bom: true }],
  ['split-utf8', { splitUtf8: true }],
  ['one-byte', { oneByte: true }],
  ['comment-keepalive', { keepAlives: true }],
  ['multi-line-data', { multiLineData: true }],
  ['no-space', { noSpace: true }],
  ['no-final-newline', { noFinalNewline: true }],
  ['gzip', { gzip: true }],
  ['bomb', { bombMebibytes: BOMB_MEBIBYTES }],
  ['echo', { echo: true }],
  ['stamp', { stamp: true }],
  ['obey-max', { obeyMax: true }],
])

type Counted = [pattern: RegExp, read: (first: number, second: number) => Partial<Directives>]

/** Words with one or two numbers. */
const counted: Counted[] = [
  [/^fail-([2-5]\d{2})$/, (status) => refuse(status)],
  [
    /^fail-([2-5]\d{2})-retry-(\d+)$/,
    (status, seconds) => ({ ...refuse(status), retryAfterSeconds: seconds }),
  ],
  [/^cut-after-(\d+)$/, (cutAfter) => ({ cutAfter })],
  [/^flaky-(\d+)$/, (flakyCalls) => ({ flakyCalls })],
  [/^slow-(\d+)$/, (delayMs) => ({ delayMs })],
  [/^slow-chunk-(\d+)$/, (chunkDelayMs) => ({ chunkDelayMs })],
  [/^chunks-(\d+)$/, (chunks) => ({ chunks })],
  [/^tokens-(\d+)$/, (completionTokens) => ({ completionTokens })],
  [/^prompt-(\d+)$/, (promptTokens) => ({ promptTokens })],
  [/^cached-(\d+)$/, (cachedTokens) => ({ cachedTokens })],
  [/^cache-write-(\d+)$/, (cacheWriteTokens) => ({ cacheWriteTokens })],
  [/^cache-write-hour-(\d+)$/, (cacheWriteHourTokens) => ({ cacheWriteHourTokens })],
  [/^reasoning-(\d+)$/, (reasoningTokens) => ({ reasoningTokens })],
  [/^big-line-(\d+)$/, (bigLineBytes) => ({ bigLineBytes })],
  [/^bomb-(\d+)$/, (bombMebibytes) => ({ bombMebibytes })],
]

/** Parses the given words; later ones override earlier ones. */
export function readDirectives(texts: string[]): Directives {
  const directives = { ...nothing }
  for (const text of texts) {
    for (const word of text.split(/[+,\s]+/)) Object.assign(directives, readWord(word))
  }
  return directives
}

function readWord(word: string): Partial<Directives> {
  const plain = words.get(word)
  if (plain) return plain
  for (const [pattern, read] of counted) {
    const match = pattern.exec(word)
    if (match) return read(Number(match[1]), Number(match[2]))
  }
  return {}
}
