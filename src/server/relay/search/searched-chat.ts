import { SEARCHING } from '../canonical/web-search.ts'
import type { UsedExtras } from '../../ledger/price/price-lines.ts'
import type { UsageReading } from '../canonical/token-usage.ts'
import type {
  AnswerReading,
  StreamChunk,
  StreamEnding,
  StreamFollower,
  StreamOutcome,
} from '../dialect/dialect.ts'
import { dialects } from '../conversion/dialects.ts'
import type { Metering } from '../dialect/metering.ts'
import type { ScannedBody } from '../json/body-scan.ts'
import { arrayOr, parseJson, recordOr, type JsonRecord } from '../json/json-value.ts'
import type { SseEvent } from '../transport/sse.ts'
import { usageOfChunk } from '../openai/usage.ts'
import {
  askedSearch,
  orOnline,
  searchesTold,
  WEB_SEARCH,
  type AskedSearch,
} from './asked-search.ts'

/**
 * How chat of OpenAI's dialect is measured that may search the web before it answers; undefined: it
 * does not. What the model is sent as tells too whether it searches. Where the upstream does not
 * count, an answer that shows what was found is one search. Source: OpenAI's API reference, "Create
 * chat completion", and its price list.
 */
export function searchedChat(
  body: ScannedBody,
): (pricedAs: string, sentAs: string) => Metering | undefined {
  const asked = askedSearch(body)
  return (pricedAs, sentAs) => meteringOf(asked, pricedAs, sentAs)
}

/** The same of a chat that was asked for in other words, of which only the name can say it. */
export const searchedByName = (pricedAs: string, sentAs: string): Metering | undefined =>
  meteringOf(null, pricedAs, sentAs)

function meteringOf(
  asked: AskedSearch | null,
  pricedAs: string,
  sentAs: string,
): Metering | undefined {
  const [, model] = SEARCHING.exec(pricedAs) ?? SEARCHING.exec(sentAs) ?? []
  const search =
    model === undefined
      ? orOnline(asked, sentAs)
      : { ...WEB_SEARCH, tool: model === 'preview' ? 'web_search_preview' : 'web_search' }
  if (search === null) return undefined
  // One search is held back.
  const isHidden = search.hiddenBy?.test(sentAs) === true
  const reading = readingWith({ ...search, least: isHidden ? 1 : 0 })
  return { estimate: null, extras: extrasOf(search, 1), reading }
}

interface Search extends AskedSearch {
  /** How many it is taken for where the upstream does not count. */
  least: number
}

const readingWith = (search: Search): Metering['reading'] => ({
  ...dialects.openai,
  look: (bytes, tokensMax) => look(bytes, tokensMax, search),
  follow: (tokensMax) => new SearchedStream(dialects.openai.follow(tokensMax), search),
})

function look(bytes: Buffer, tokensMax: number, search: Search): AnswerReading {
  const reading = dialects.openai.look(bytes, tokensMax)
  if (reading.kind !== 'ok') return reading
  const answer = recordOr(parseJson(bytes.toString('utf8')))
  const signs = { told: toldIn(search, answer), isShown: isShownIn(answer) }
  const count = searchesOf(search, { ...signs, calls: new Set(callsIn(search, answer)) })
  const extras = extrasOf(search, count)
  return { ...reading, usage: withExtras(reading.usage, extras), extras }
}

interface Signs {
  /** How many the upstream says they were; null: it does not. */
  told: number | null
  /** The answer shows what was found. */
  isShown: boolean
  /** The places of its calls of the tool that searches. */
  calls: Set<string>
}

const searchesOf = ({ least }: Search, { told, isShown, calls }: Signs): number =>
  Math.max(told ?? least, isShown ? 1 : 0, calls.size)

const extrasOf = ({ tool, apiece }: AskedSearch, count: number): UsedExtras =>
  count === 0 ? {} : { tools: { [tool]: count * apiece } }

const toldIn = (search: AskedSearch, answer: JsonRecord): number | null =>
  searchesTold(search, recordOr(usageOfChunk(answer)))

/** The calls in an answer, or in an event of one: which of them, of which choice. */
function callsIn({ called }: AskedSearch, { choices }: JsonRecord): string[] {
  if (called === undefined) return []
  return arrayOr(choices)
    .map(recordOr)
    .flatMap(({ message, delta }, choice) =>
      arrayOr(recordOr(message ?? delta).tool_calls)
        .map(recordOr)
        .flatMap((call, at) => (recordOr(call.function).name === called ? [call.index ?? at] : []))
        .map((place) => `${choice} ${String(place)}`),
    )
}

/** Whether an answer, or an event of one, names a page that was found; Zhipu's stand beside it. */
function isShownIn({ choices, web_search }: JsonRecord): boolean {
  const annotations = arrayOr(choices)
    .map(recordOr)
    .flatMap(({ message, delta }) => arrayOr(recordOr(message ?? delta).annotations))
  const isCited = annotations.some((annotation) => recordOr(annotation).type === 'url_citation')
  return isCited || arrayOr(web_search).length > 0
}

function withExtras(reading: UsageReading, extras: UsedExtras): UsageReading {
  const { usage } = reading
  if (usage === null || extras.tools === undefined) return reading
  return { ...reading, usage: { ...usage, extras: { ...usage.extras, ...extras } } }
}

class SearchedStream implements StreamFollower {
  private readonly stream: StreamFollower
  private readonly search: Search
  private readonly signs: Signs = { told: null, isShown: false, calls: new Set() }

  constructor(stream: StreamFollower, search: Search) {
    this.stream = stream
    this.search = search
  }

  read(event: SseEvent): StreamChunk {
    return this.stream.read(event)
  }

  see(chunk: StreamChunk, isTerminated?: boolean): void {
    if (!this.isOver && chunk.value !== null) {
      this.signs.told = toldIn(this.search, chunk.value) ?? this.signs.told
      this.signs.isShown ||= isShownIn(chunk.value)
      for (const call of callsIn(this.search, chunk.value)) this.signs.calls.add(call)
    }
    this.stream.see(chunk, isTerminated)
  }

  get isDone(): boolean {
    return this.stream.isDone
  }

  get isOver(): boolean {
    return this.stream.isOver
  }

  get extras(): UsedExtras {
    return extrasOf(this.search, searchesOf(this.search, this.signs))
  }

  get usage(): UsageReading {
    return withExtras(this.stream.usage, this.extras)
  }

  outcome(ending: StreamEnding): StreamOutcome {
    return this.stream.outcome(ending)
  }
}
