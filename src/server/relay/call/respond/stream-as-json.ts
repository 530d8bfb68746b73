import { setImmediate } from 'node:timers/promises'
import type { ChatEvent } from '../../protocols/canonical/chat-answer.ts'
import { FollowedStream } from '../../protocols/dialect/followed-stream.ts'
import type {
  StreamGatherer,
  AnswerReader,
  AnswerReading,
} from '../../protocols/dialect/dialect.ts'
import { appendAll, type JsonRecord } from '../../json/json-value.ts'
import { type EventReader, type SseEvent, beginAsEvents, type Wire } from '../../transport/wire.ts'
import { decodedBody, type Answer, type BodyFault } from '../../transport/decoded-body.ts'

/** A stream joined into one response. `cut`: the stream ended before it was complete. */
export type Gathered =
  /** `json`: the response in the upstream's dialect; null if the call is converted. */
  | { kind: 'whole'; events: readonly ChatEvent[]; json: JsonRecord | null }
  | { kind: 'error'; error: unknown }
  | { kind: 'cut' }
  | { kind: 'unreadable' }

/** Joins a stream into one response, for a client that requested no stream. */
export class Gathering {
  private readonly reader: EventReader
  private readonly stream: FollowedStream
  private readonly gatherer: StreamGatherer | null
  private readonly events: ChatEvent[] = []
  private hasBegun = false
  private error: unknown = undefined

  constructor(reader: EventReader, stream: FollowedStream, gatherer: StreamGatherer | null) {
    this.reader = reader
    this.stream = stream
    this.gatherer = gatherer
  }

  push(bytes: Buffer): void {
    for (const event of this.reader.push(bytes)) this.take(event)
  }

  /** Pushes many bytes in slices, and yields to other calls between them. */
  async pushAll(bytes: Buffer): Promise<void> {
    for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
      if (at > 0) await setImmediate()
      this.push(bytes.subarray(at, at + SLICE_BYTES))
    }
  }

  end(): Gathered {
    const last = this.reader.end()
    if (last !== null) this.take(last)
    if (this.error !== undefined) return { kind: 'error', error: this.error }
    const outcome = this.stream.outcome('end')
    if (!this.hasBegun || this.reader.fault !== null || outcome === 'malformed') {
      return { kind: 'unreadable' }
    }
    if (outcome !== 'clean' && outcome !== 'usage-missing') return { kind: 'cut' }
    const events = [...this.events, ...this.stream.end()]
    return { kind: 'whole', events, json: this.gatherer?.whole() ?? null }
  }

  private take(event: SseEvent): void {
    if (event.data === null || this.stream.isOver) return
    const read = this.stream.read(event)
    if (read.error !== undefined) this.error = read.error
    else if (read.kind !== 'malformed' && read.value !== null) {
      this.hasBegun = true
      this.gatherer?.add(read.value)
      if (read.kind !== 'idle') appendAll(this.events, read.events)
    }
  }
}

const SLICE_BYTES = 32 * 1024

/** The members of a plan that decide how a stream is read. */
interface Plan {
  gathers: 'events' | (() => StreamGatherer) | null
  upstream: AnswerReader
  wire: Wire
}

/** A whole response, and the plan by which it is read. */
export interface GatheredAnswer<P> {
  answer: Answer
  plan: P
}

/**
 * Joins a stream from an upstream that always streams, even under another media type, for a client
 * that requested no stream. The charge follows the usage in the stream. An incomplete stream is an
 * error.
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
    // The joined JSON may be invalid, such as a stream without any choice.
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
