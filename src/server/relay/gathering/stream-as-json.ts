import { decodedBody, type Answer, type BodyFault } from '../transport/decoded-body.ts'
import type { AnswerReader, AnswerReading, StreamGatherer } from '../dialect/dialect.ts'
import { FollowedStream } from '../dialect/followed-stream.ts'
import { Gathering } from './gathering.ts'
import { beginAsEvents, type Wire } from '../transport/wire.ts'

/** The members of a plan that decide how a stream is read. */
interface Plan {
  gathers: 'events' | (() => StreamGatherer) | null
  upstream: AnswerReader
  wire: Wire
}

/** An answer in one piece, and the plan by which it is read. */
export interface GatheredAnswer<P> {
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
): Promise<GatheredAnswer<P> | 'cut' | BodyFault> {
  const { gathers, upstream, wire } = plan
  if (gathers === null) return { answer: packed, plan }
  const body = await decodedBody(packed)
  if (typeof body === 'string') return body
  const answer = body === packed.body ? packed : unpacked(packed, body)
  if (beginAsEvents(wire, body) !== true) return { answer, plan }
  const isConverted = gathers === 'events'
  const stream = new FollowedStream(upstream.readStream(), isConverted)
  const gatherer = isConverted ? null : gathers()
  const gathering = new Gathering(wire.reader(), stream, gatherer)
  await gathering.pushAll(body)
  const gathered = gathering.end()
  if (gathered.kind === 'cut' || gathered.kind === 'unreadable') return gathered.kind
  const headers = { ...answer.headers, 'content-type': 'application/json' }
  if (gathered.kind === 'error') {
    const { error } = gathered
    return { answer: { ...answer, headers }, plan: readAs(plan, () => ({ kind: 'error', error })) }
  }
  const { events, json } = gathered
  if (json === null && !events.some((event) => 'choice' in event)) return 'unreadable'
  const { usage, extras } = stream
  const whole = { kind: 'ok' as const, usage, extras, events: () => events }
  const read = (bytes: Buffer): AnswerReading => {
    // The gathered JSON may be no answer, such as a stream without a single choice.
    const reading = json === null ? whole : upstream.readAnswer(bytes)
    return reading.kind === 'ok' ? { ...reading, ...whole } : reading
  }
  const written = Buffer.from(JSON.stringify(json ?? {}))
  return { answer: { ...answer, headers, body: written }, plan: readAs(plan, read) }
}

const readAs = <P extends Plan>(plan: P, readAnswer: AnswerReader['readAnswer']): P => ({
  ...plan,
  upstream: { ...plan.upstream, readAnswer },
})

const unpacked = ({ headers, ...answer }: Answer, body: Buffer): Answer => ({
  ...answer,
  headers: { ...headers, 'content-encoding': undefined },
  body,
})
