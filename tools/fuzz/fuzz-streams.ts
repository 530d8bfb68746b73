import { createParser } from 'eventsource-parser'
import type { DialectName } from '../../src/server/relay/protocols/canonical/chat-request.ts'
import {
  countedUsage,
  USAGE_TOKENS_MAX,
} from '../../src/server/relay/protocols/canonical/token-usage.ts'
import { NO_CHANGES } from '../../src/server/relay/protocols/dialect/answer-changes.ts'
import type { StreamOutcome } from '../../src/server/relay/protocols/dialect/dialect.ts'
import { FollowedStream } from '../../src/server/relay/protocols/dialect/followed-stream.ts'
import { dialects } from '../../src/server/relay/conversion/dialects.ts'
import {
  convertedOutput,
  splicedOutput,
  type StreamOutput,
} from '../../src/server/relay/protocols/dialect/stream-output.ts'
import { SseReader, type SseEvent } from '../../src/server/relay/transport/wire.ts'
import { responsesClient } from '../../src/server/relay/protocols/openai-responses/client.ts'
import { createDice, type Dice } from './dice.ts'
import { streamCases, type StreamCase } from './stream-corpus.ts'

/**
 * Runs malformed streams through the reader, the follower and the output of every dialect.
 * Invariants for each, however it is cut into chunks:
 *
 * - nothing throws, and the bytes of all events are the bytes of the stream;
 * - the cuts change neither the outcome, nor the usage, nor the client's bytes;
 * - usage consists of integers within their bounds;
 * - a client receives only complete events, and takes only a complete stream for complete.
 */
export interface StreamFinding {
  dialect: DialectName
  client: string
  name: string
  /** The stream, for reproduction. */
  base64: string
  cuts: readonly number[]
  what: string
}

export interface StreamFuzz {
  cases: number
  outcomes: Record<string, number>
  findings: StreamFinding[]
}

const NAMES = ['openai', 'anthropic', 'gemini'] as const satisfies readonly DialectName[]
const HEAD = { id: 'resp_1', model: 'asked', nowSeconds: 1, wantsUsage: true }
const CLIENTS = [...NAMES, 'responses'] as const
type ClientName = (typeof CLIENTS)[number]

/** The event that marks a response as complete; null if there is no special one. */
const ENDS: Readonly<Record<ClientName, RegExp | null>> = {
  openai: /^\[DONE\]$/,
  anthropic: /^\s*\{\s*"type":\s*"message_stop"/,
  gemini: null,
  responses: /^\s*\{\s*"type":\s*"response\.(?:completed|incomplete)"/,
}

interface Read {
  outcome: StreamOutcome
  figures: string
  sent: string
}

interface Way {
  dialect: DialectName
  client: ClientName
}

/**
 * Runs every case of the corpus in every dialect for every client, cut at every byte or at as many
 * bytes as half of the cases allow; then random cases up to the limit.
 */
export function fuzzStreams({ cases, seed }: { cases: number; seed: number }): StreamFuzz {
  const result: StreamFuzz = { cases: 0, outcomes: {}, findings: [] }
  const dice = createDice(seed)
  const corpus = NAMES.map((dialect) => ({ dialect, cases: streamCases(dialect) }))
  const streams = corpus.reduce((sum, { cases: known }) => sum + known.length, 0)
  // Half of the cases for the corpus, the rest for random ones.
  const cutsMax = Math.floor(cases / 2 / streams / CLIENTS.length)
  for (const { dialect, cases: known } of corpus) {
    for (const one of known) {
      const cuts = cutsOf(one.bytes, cutsMax)
      for (const client of CLIENTS) tryCuts(result, one, { dialect, client }, cuts)
    }
  }
  while (result.cases < cases) {
    const { dialect, cases: known } = dice.pick(corpus)
    const bytes = mangled(dice, dice.pick(known).bytes, dice.pick(known).bytes)
    const one = { name: 'random', bytes }
    tryCuts(result, one, { dialect, client: dice.pick(CLIENTS) }, [randomCuts(dice, bytes.length)])
  }
  return result
}

/** All positions together, and each separately, or as many as `cutsMax` allows. */
function cutsOf({ length }: Buffer, cutsMax: number): number[][] {
  const all = Array.from({ length: Math.min(length, 4096) }, (_, index) => index)
  const step = Math.max(1, Math.ceil(length / Math.max(1, cutsMax)))
  return [all, ...all.filter((place) => place % step === 0).map((place) => [place])]
}

function randomCuts(dice: Dice, length: number): number[] {
  return Array.from({ length: dice.below(12) }, () => dice.below(length + 1)).toSorted(
    (one, other) => one - other,
  )
}

/** The bytes with parts removed, repeated, changed, or inserted from another stream. */
function mangled(dice: Dice, bytes: Buffer, other: Buffer): Buffer {
  let made = bytes.subarray(0, 4096)
  for (let changes = 1 + dice.below(3); changes > 0; changes -= 1) {
    const from = dice.below(made.length + 1)
    const to = Math.min(made.length, from + dice.below(64))
    const strange = dice.below(other.length + 1)
    const put = dice.pick([
      Buffer.alloc(0),
      Buffer.concat([made.subarray(from, to), made.subarray(from, to)]),
      Buffer.from([dice.below(256)]),
      other.subarray(strange, strange + dice.below(256)),
      Buffer.from(dice.pick(['\n', '\r', '\r\n\r\n', '\n\ndata: ', ':', '[DONE]', '{', 'null'])),
    ])
    made = Buffer.concat([made.subarray(0, from), put, made.subarray(to)])
  }
  return made
}

function tryCuts(result: StreamFuzz, one: StreamCase, way: Way, cuts: readonly number[][]): void {
  let whole: Read | null = null
  const tell = (what: string, places: readonly number[]): void => {
    const { name, bytes } = one
    result.findings.push({ ...way, name, base64: bytes.toString('base64'), cuts: places, what })
  }
  for (const places of [[], ...cuts]) {
    result.cases += 1
    try {
      const read = readStream(way, piecesOf(one.bytes, places))
      result.outcomes[read.outcome] = (result.outcomes[read.outcome] ?? 0) + 1
      const fault = whole === null ? faultOf(way, read) : differenceOf(whole, read)
      if (fault !== null) tell(fault, places)
      whole ??= read
    } catch (error) {
      tell(String(error), places)
    }
  }
}

function piecesOf(bytes: Buffer, places: readonly number[]): Buffer[] {
  return [0, ...places].map((place, index) => Buffer.from(bytes.subarray(place, places[index])))
}

function readStream({ dialect, client }: Way, pieces: readonly Buffer[]): Read {
  const upstream = dialects[dialect]
  const reader = new SseReader()
  const stream = new FollowedStream(upstream.readStream(), client !== dialect)
  const output = outputOf({ dialect, client })
  const sent: Buffer[] = []
  const raw: Buffer[] = []
  const take = (event: SseEvent): void => {
    raw.push(event.raw)
    if (event.data === null || stream.isOver) return
    const one = stream.read(event)
    if (one.kind === 'done' || one.kind === 'malformed' || one.kind === 'idle') return
    const bytes = one.kind === 'error' ? output.error(ERROR, 'id') : output.take(event, one)
    if (bytes !== null) sent.push(bytes)
  }
  for (const piece of pieces) reader.push(piece).forEach(take)
  const last = reader.end()
  if (last !== null) take(last)
  if (!Buffer.concat(raw).equals(Buffer.concat([...pieces]))) throw new Error('bytes were lost')
  const rest = stream.end()
  const outcome = stream.outcome('end')
  const { usage } = stream.usage
  const isWhole = outcome === 'clean' || outcome === 'usage-missing'
  if (isWhole) sent.push(output.end(usage ?? countedUsage(1, 1), rest))
  return { outcome, figures: JSON.stringify(usage), sent: Buffer.concat(sent).toString('latin1') }
}

const ERROR = { status: 502, message: 'it broke', type: 'x', param: '', code: 'x' }

function outputOf({ dialect, client }: Way): StreamOutput {
  const upstream = dialects[dialect]
  if (client === dialect) return splicedOutput(upstream, { framing: 'events', wantsUsage: true })
  const speaker = client === 'responses' ? responsesClient({}) : dialects[client]
  return convertedOutput(speaker, NO_CHANGES, { framing: 'events', head: HEAD })
}

/** Violation in a stream read in one piece; null for a valid stream. */
function faultOf({ client }: Way, { outcome, figures, sent }: Read): string | null {
  for (const [name, value] of Object.entries(JSON.parse(figures) ?? {})) {
    const isFigure = typeof value === 'number' && Number.isInteger(value) && value >= 0
    if (name !== 'extras' && !(isFigure && value <= USAGE_TOKENS_MAX))
      return `${name} is ${String(value)}`
  }
  const heard: string[] = []
  const parser = createParser({ onEvent: ({ data }) => heard.push(data) })
  // After a CR at the very end, a parser waits for more.
  parser.feed(`${Buffer.from(sent, 'latin1').toString('utf8')}\n`)
  const strange = heard.find((data) => data !== '[DONE]' && !isObject(data))
  if (strange !== undefined) return `an event that is none: ${strange}`
  const isWhole = outcome === 'clean' || outcome === 'usage-missing'
  const end = ENDS[client]
  const isTold = end !== null && heard.some((data) => end.test(data))
  return end === null || isTold === isWhole ? null : `${outcome}, and its client hears otherwise`
}

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

function differenceOf(whole: Read, cut: Read): string | null {
  if (whole.outcome !== cut.outcome) return `cut it is ${cut.outcome}, whole ${whole.outcome}`
  if (whole.figures !== cut.figures) return `cut it used ${cut.figures}, whole ${whole.figures}`
  return whole.sent === cut.sent ? null : 'cut, its client gets something else'
}
