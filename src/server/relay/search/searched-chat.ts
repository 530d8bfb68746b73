import type { UsedExtras } from '../../ledger/price/price-lines.ts'
import type { UsageReading } from '../canonical/token-usage.ts'
import type {
  AnswerReading,
  StreamChunk,
  StreamEnding,
  StreamFollower,
  StreamOutcome,
} from '../dialect/dialect.ts'
import { dialects } from '../dialect/dialects.ts'
import type { Metering, MeteringAs } from '../dialect/metering.ts'
import { memberValue, type ScannedBody } from '../json/body-scan.ts'
import { arrayOr, parseJson, recordOr, wordOf } from '../json/json-value.ts'
import type { SseEvent } from '../openai/sse.ts'

/**
 * Chat of OpenAI's dialect that may search the web before it answers. Upstreams do not count these
 * searches: an answer that cites what was found is one. Source: OpenAI's API reference, "Create
 * chat completion", and its price list.
 */
export interface SearchedChat {
  /** One search, to be held back. */
  extras: UsedExtras
  metering: MeteringAs
}

/** OpenAI's models that always search; the first of them at an older, dearer price. */
const SEARCHING = /-search-(api|preview)\b/

/** Null: no search was asked for. */
export function searchedChat(body: ScannedBody): SearchedChat | null {
  const [, model] = SEARCHING.exec(wordOf(memberValue(body, 'model'))) ?? []
  const isAsked = (memberValue(body, 'web_search_options') ?? null) !== null
  if (!isAsked && model === undefined) return null
  const tool = model === 'preview' ? 'web_search_preview' : 'web_search'
  const extras = { tools: { [tool]: 1 } }
  return { extras, metering: () => ({ estimate: null, reading: readingWith(extras) }) }
}

const readingWith = (extras: UsedExtras): Metering['reading'] => ({
  ...dialects.openai,
  look: (bytes, tokensMax) => look(bytes, tokensMax, extras),
  follow: (tokensMax) => new SearchedStream(dialects.openai.follow(tokensMax), extras),
})

function look(bytes: Buffer, tokensMax: number, extras: UsedExtras): AnswerReading {
  const reading = dialects.openai.look(bytes, tokensMax)
  if (reading.kind !== 'ok' || !cites(parseJson(bytes.toString('utf8')))) return reading
  return { ...reading, usage: withExtras(reading.usage, extras) }
}

/** Whether an answer, or an event of one, names a page that was found. */
function cites(answer: unknown): boolean {
  return arrayOr(recordOr(answer).choices)
    .map(recordOr)
    .flatMap(({ message, delta }) => arrayOr(recordOr(message ?? delta).annotations))
    .some((annotation) => recordOr(annotation).type === 'url_citation')
}

function withExtras(reading: UsageReading, extras: UsedExtras): UsageReading {
  const { usage } = reading
  if (usage === null) return reading
  return { ...reading, usage: { ...usage, extras: { ...usage.extras, ...extras } } }
}

class SearchedStream implements StreamFollower {
  private readonly stream: StreamFollower
  private readonly search: UsedExtras
  private hasSearched = false

  constructor(stream: StreamFollower, search: UsedExtras) {
    this.stream = stream
    this.search = search
  }

  read(event: SseEvent): StreamChunk {
    return this.stream.read(event)
  }

  see(chunk: StreamChunk, isTerminated?: boolean): void {
    if (!this.isOver) this.hasSearched ||= cites(chunk.value)
    this.stream.see(chunk, isTerminated)
  }

  get isDone(): boolean {
    return this.stream.isDone
  }

  get isOver(): boolean {
    return this.stream.isOver
  }

  get extras(): UsedExtras {
    return this.hasSearched ? this.search : {}
  }

  get usage(): UsageReading {
    return withExtras(this.stream.usage, this.extras)
  }

  outcome(ending: StreamEnding): StreamOutcome {
    return this.stream.outcome(ending)
  }
}
