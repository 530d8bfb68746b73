import { setImmediate } from 'node:timers/promises'
import { ChannelTypeNumber } from '../../../contract/channel-type-number.ts'
import { inflate } from '../../http/input/inflate.ts'
import { packageVersion } from '../../version.ts'
import type { CallRecording, UpstreamExchange } from './call-recording.ts'
import { BODY_BYTES_MAX, type Pieces } from './pieces.ts'
import {
  recordedHeaders,
  recordedPath,
  secretsInHeaders,
  secretsInQuery,
  type HeaderValues,
} from './recorded-headers.ts'
import { Redactor } from './redactor.ts'

/** Version of the format below; incremented if older files could be misread. */
const FORMAT = 1

/** A body in a file. The four bodies of an exchange all have this shape. */
export interface RecordedBody {
  /**
   * The text, or `bodyBase64` for binary data. Both are missing if `withheld` states the reason.
   */
  body?: string
  bodyBase64?: string
  /** Milliseconds since the start of the recording, and bytes, of each piece. */
  pieces: [ms: number, bytes: number][]
  /** Total bytes, if not all of them are stored. */
  cutFrom?: number
  withheld?: string
  /** Compression that was removed; `pieces` then has a single element. */
  unpacked?: string
}

export interface RecordedExchange {
  channelType: number
  model: string
  request: RecordedBody & {
    method: string
    url: string
    headers: Record<string, string>
    ms: number
  }
  /** Null if no response began. */
  response: (RecordedBody & { status: number; headers: Record<string, string> }) | null
  isComplete: boolean
  /** Error code of the connection. */
  failure: string | null
}

/** One call as a file: a response that the test suite replays, and the exchange around it. */
export interface RecordingFile extends Partial<RecordedBody> {
  name: string
  provider: string
  api: string
  source: string
  model: string | null
  stream: boolean
  status: number
  contentType: string
  meta: null
  exchange: {
    format: number
    gatehouse: string
    node: string
    at: string
    model: string
    client: RecordedBody & { method: string; path: string; headers: Record<string, string> }
    upstream: RecordedExchange[]
    answer: RecordedBody & {
      status: number
      headers: Record<string, string>
      isComplete: boolean
    }
  }
}

const SECRET_ELSEWHERE =
  'a secret is spelled or spread in a way that cannot be masked in place: nothing is kept'

/** Builds the file of a finished call, without its secrets. */
export async function recordingFile(recording: CallRecording): Promise<RecordingFile> {
  const redactor = redactorFor(recording)
  const { request, exchanges, answer } = recording
  const client = {
    method: request.method,
    path: recordedPath(request.address, redactor),
    headers: recordedHeaders(request.headers, redactor),
    ...(await recordedBody(request.body, redactor, {})),
  }
  const upstream: RecordedExchange[] = []
  for (const exchange of exchanges) upstream.push(await recordedExchange(exchange, redactor))
  const last = upstream.at(-1)
  const played = last?.response ?? null
  const contentType = played?.headers['content-type'] ?? ''
  const file: RecordingFile = {
    name: `recorded/${recording.id}`,
    provider: providerName(last?.channelType ?? 0),
    api: apiOf(last?.request.url ?? ''),
    source: `gatehouse record ${packageVersion()}`,
    model: last?.model ?? null,
    stream: /event-stream|eventstream|ndjson/.test(contentType),
    status: played?.status ?? 0,
    contentType,
    ...(played === null ? {} : textOf(played)),
    meta: null,
    exchange: {
      format: FORMAT,
      gatehouse: packageVersion(),
      node: process.versions.node,
      at: recording.startedAt.toISOString(),
      model: redactor.text(recording.modelRequested),
      client,
      upstream,
      answer: {
        status: recording.answerStatus,
        headers: recordedHeaders(recording.answerHeaders, redactor),
        isComplete: recording.isAnswerComplete,
        ...(await recordedBody(answer, redactor, recording.answerHeaders)),
      },
    },
  }
  // Final check: a file that still contains a known secret is not written.
  if (redactor.holdsKnown(JSON.stringify(file))) throw new Error(SECRET_ELSEWHERE)
  return file
}

function redactorFor(recording: CallRecording): Redactor {
  const { request, exchanges } = recording
  const secrets = new Set(recording.secrets)
  const add = (found: readonly string[]): void => found.forEach((secret) => secrets.add(secret))
  add(secretsInHeaders(request.headers, 'request'))
  add(secretsInQuery(request.address))
  for (const exchange of exchanges) {
    add(secretsInHeaders(exchange.headers, 'request'))
    add(secretsInHeaders(exchange.responseHeaders, 'response'))
    add(secretsInQuery(exchange.address))
    const { host, hostname } = new URL(exchange.origin)
    add([host, hostname].filter((place) => /[.:]/.test(place)))
  }
  // Every file contains this placeholder.
  secrets.delete('upstream.example')
  return new Redactor(secrets)
}

async function recordedExchange(
  exchange: UpstreamExchange,
  redactor: Redactor,
): Promise<RecordedExchange> {
  const { status } = exchange
  return {
    channelType: exchange.channelType,
    model: redactor.text(exchange.modelSent),
    request: {
      method: exchange.method,
      url: `https://upstream.example${recordedPath(pathBehindBase(exchange), redactor)}`,
      headers: recordedHeaders(exchange.headers, redactor),
      ms: Math.round(exchange.sentMs * 10) / 10,
      ...(await recordedBody(exchange.body, redactor, exchange.headers)),
    },
    response:
      status === null
        ? null
        : {
            status,
            headers: recordedHeaders(exchange.responseHeaders, redactor),
            ...(await recordedBody(exchange.response, redactor, exchange.responseHeaders)),
          },
    isComplete: exchange.isComplete,
    failure: exchange.failure,
  }
}

/** A channel's base URL may contain an account in its path, so that path is removed. */
function pathBehindBase({ origin, baseUrl, address }: UpstreamExchange): string {
  if (!URL.canParse(baseUrl)) return address
  const base = new URL(baseUrl)
  const path = base.pathname.endsWith('/') ? base.pathname.slice(0, -1) : base.pathname
  return base.origin === origin && address.startsWith(`${path}/`)
    ? address.slice(path.length)
    : address
}

async function recordedBody(
  pieces: Pieces,
  redactor: Redactor,
  headers: HeaderValues,
): Promise<RecordedBody> {
  // Yields to running calls between bodies.
  await setImmediate()
  const cut = pieces.isCut ? { cutFrom: pieces.length } : {}
  const unpacked = await unpackedBytes(pieces, headers)
  if (unpacked === null) {
    return { ...cut, pieces: pieces.sizes, withheld: 'the compression could not be undone' }
  }
  const clean = redactor.body(unpacked.bytes)
  if (clean === null) return { ...cut, pieces: pieces.sizes, withheld: SECRET_ELSEWHERE }
  const sizes: RecordedBody['pieces'] =
    unpacked.encoding === undefined ? pieces.sizes : [[pieces.sizes.at(-1)?.[0] ?? 0, clean.length]]
  const text = clean.toString('utf8')
  return {
    ...(Buffer.from(text).equals(clean)
      ? { body: text }
      : { bodyBase64: clean.toString('base64') }),
    ...cut,
    pieces: sizes,
    ...(unpacked.encoding === undefined ? {} : { unpacked: unpacked.encoding }),
  }
}

async function unpackedBytes(
  pieces: Pieces,
  headers: HeaderValues,
): Promise<{ bytes: Buffer; encoding?: string } | null> {
  const bytes = pieces.bytes()
  const name = Object.keys(headers).find((key) => key.toLowerCase() === 'content-encoding')
  const encoding = name === undefined ? undefined : headers[name]
  if (encoding === undefined || bytes.length === 0) return { bytes }
  let plain = bytes
  for (const layer of String(encoding).split(',').toReversed()) {
    const inflated = await inflate(plain, layer, BODY_BYTES_MAX)
    if (typeof inflated === 'string') return null
    plain = inflated
  }
  return { bytes: plain, encoding: String(encoding) }
}

const textOf = ({ body, bodyBase64 }: RecordedBody): Pick<RecordedBody, 'body' | 'bodyBase64'> => ({
  ...(body === undefined ? {} : { body }),
  ...(bodyBase64 === undefined ? {} : { bodyBase64 }),
})

const providerName = (type: number): string =>
  Object.entries(ChannelTypeNumber).find(([, number]) => number === type)?.[0] ?? 'unknown'

/** API by the end of the path; the first match counts. */
const APIS: readonly [end: RegExp, api: string][] = [
  [/\/chat\/completions$/, 'chat'],
  [/\/responses$/, 'responses'],
  [/\/messages$/, 'messages'],
  [/:(?:streamG|g)enerateContent$/, 'generateContent'],
  [/\/converse(?:-stream)?$/, 'converse'],
  [/\/v2\/chat$/, 'cohere'],
  [/\/embeddings$/, 'embeddings'],
  [/\/rerank$/, 'rerank'],
  [/\/completions$/, 'completions'],
]

function apiOf(url: string): string {
  const [path = ''] = url.split('?')
  return APIS.find(([end]) => end.test(path))?.[1] ?? 'other'
}
