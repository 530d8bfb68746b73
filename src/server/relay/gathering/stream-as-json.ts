import { setImmediate } from 'node:timers/promises'
import { USAGE_TOKENS_MAX } from '../canonical/token-usage.ts'
import { decodedBody, type Answer, type BodyFault } from '../transport/decoded-body.ts'
import type { AnswerReading, StreamGatherer } from '../dialect/dialect.ts'
import { Gathering, type Gathered } from './gathering.ts'
import type { Reading } from '../dialect/metering.ts'
import { beginAsEvents, type Wire } from '../transport/wire.ts'

/** What of an attempt says how a stream is read. */
interface Plan {
  gatherer: (() => StreamGatherer) | null
  upstream: Reading
  wire: Wire
}

/** An answer in one piece, and the plan by which it is read. */
export interface WholeAnswer<P> {
  answer: Answer
  plan: P
}

/**
 * Some upstreams always stream, called so or not. A client that did not ask for it gets one answer,
 * made of all events, and pays what the stream says. Half of a stream is no answer.
 */
export async function streamAsJson<P extends Plan>(
  plan: P,
  packed: Answer,
): Promise<WholeAnswer<P> | 'cut' | BodyFault> {
  const { gatherer, upstream, wire } = plan
  if (gatherer === null) return { answer: packed, plan }
  const body = await decodedBody(packed)
  if (typeof body === 'string') return body
  const answer = body === packed.body ? packed : unpacked(packed, body)
  if (beginAsEvents(wire, body) !== true) return { answer, plan }
  const stream = upstream.follow(USAGE_TOKENS_MAX)
  const gathered = await gatheredIn(body, new Gathering(wire.reader(), stream, gatherer()))
  if (gathered.kind === 'cut' || gathered.kind === 'unreadable') return gathered.kind
  const { answer: json, upstream: read } = asAnswer(gathered, upstream)
  const headers = { ...answer.headers, 'content-type': 'application/json' }
  return { answer: { ...answer, headers, body: json }, plan: { ...plan, upstream: read } }
}

const unpacked = ({ headers, ...answer }: Answer, body: Buffer): Answer => ({
  ...answer,
  headers: { ...headers, 'content-encoding': undefined },
  body,
})

/** Read at once; others are answered meanwhile. */
const SLICE_BYTES = 32 * 1024

async function gatheredIn(body: Buffer, gathering: Gathering): Promise<Gathered> {
  for (let at = 0; at < body.length; at += SLICE_BYTES) {
    if (at > 0) await setImmediate()
    gathering.push(body.subarray(at, at + SLICE_BYTES))
  }
  return gathering.end()
}

type Readable = Extract<Gathered, { kind: 'whole' | 'error' }>

function asAnswer(gathered: Readable, upstream: Reading): { answer: Buffer; upstream: Reading } {
  if (gathered.kind === 'error') return { answer: jsonOf({ error: gathered.error }), upstream }
  const { usage, extras } = gathered
  const look = (bytes: Buffer, tokensMax: number): AnswerReading => {
    const reading = upstream.look(bytes, tokensMax)
    if (reading.kind !== 'ok') return reading
    return { ...reading, usage, ...(extras === undefined ? {} : { extras }) }
  }
  return { answer: jsonOf(gathered.answer), upstream: { ...upstream, look } }
}

const jsonOf = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))
