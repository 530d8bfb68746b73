import { meteringFigures } from '../../model/model-table.ts'
import type { UsedExtras } from '../../ledger/price/price-lines.ts'
import type { UsageReading } from '../protocols/canonical/token-usage.ts'
import type { ChatEvent } from '../protocols/canonical/chat-answer.ts'
import type {
  AnswerReading,
  EventReport,
  StreamReader,
  StreamState,
} from '../protocols/dialect/dialect.ts'
import { dialects } from '../conversion/dialects.ts'
import type { Metering } from '../protocols/dialect/surface.ts'
import type { ScannedBody } from '../json/body-scan.ts'
import { arrayOr, parseJson, recordOr, type JsonRecord } from '../json/json-value.ts'
import { usageOfChunk } from '../protocols/openai-chat/usage.ts'
import {
  askedSearch,
  orOnline,
  searchesTold,
  WEB_SEARCH,
  type AskedSearch,
} from './asked-search.ts'

/**
 * Returns the metering of a chat in OpenAI's dialect that may search the web; undefined if it does
 * not. The model name sent upstream also decides whether it searches. If the upstream does not
 * count searches, a response with search results counts as one. Source: OpenAI's API reference,
 * "Create chat completion", and its price list.
 */
export function searchedChat(
  body: ScannedBody,
): (pricedAs: string, sentAs: string) => Metering | undefined {
  const asked = askedSearch(body)
  return (pricedAs, sentAs) => meteringOf(asked, pricedAs, sentAs)
}

/** Like `searchedChat`, for a chat in another dialect: only the model name decides. */
export const searchedByName = (pricedAs: string, sentAs: string): Metering | undefined =>
  meteringOf(null, pricedAs, sentAs)

function meteringOf(
  asked: AskedSearch | null,
  pricedAs: string,
  sentAs: string,
): Metering | undefined {
  // OpenAI's models that always search; the first of them at an older, higher price.
  const tool = meteringFigures(pricedAs).search_tool ?? meteringFigures(sentAs).search_tool
  const search = tool === undefined ? orOnline(asked, sentAs) : { ...WEB_SEARCH, tool }
  if (search === null) return undefined
  // One search is reserved.
  const isHidden = search.hiddenBy?.test(sentAs) === true
  const reading = readingWith({ ...search, least: isHidden ? 1 : 0 })
  return { estimate: null, extras: extrasOf(search, 1), reading }
}

interface Search extends AskedSearch {
  /** Number of searches that is assumed if the upstream does not count them. */
  least: number
}

const readingWith = (search: Search): Metering['reading'] => ({
  ...dialects.openai,
  readAnswer: (bytes) => read(bytes, search),
  readStream: () => new SearchedStream(dialects.openai.readStream(), search),
})

function read(bytes: Buffer, search: Search): AnswerReading {
  const reading = dialects.openai.readAnswer(bytes, 'chat')
  if (reading.kind !== 'ok') return reading
  const answer = recordOr(parseJson(bytes.toString('utf8')))
  const signs = { told: toldIn(search, answer), isShown: isShownIn(answer) }
  const count = searchesOf(search, { ...signs, calls: new Set(callsIn(search, answer)) })
  const extras = extrasOf(search, count)
  return { ...reading, usage: withExtras(reading.usage, extras), extras }
}

interface Signs {
  /** Number of searches that the upstream reports; null if missing. */
  told: number | null
  /** The response contains search results. */
  isShown: boolean
  /** Positions of the calls of the search tool. */
  calls: Set<string>
}

const searchesOf = ({ least }: Search, { told, isShown, calls }: Signs): number =>
  Math.max(told ?? least, isShown ? 1 : 0, calls.size)

const extrasOf = ({ tool, apiece }: AskedSearch, count: number): UsedExtras =>
  count === 0 ? {} : { tools: { [tool]: count * apiece } }

const toldIn = (search: AskedSearch, answer: JsonRecord): number | null =>
  searchesTold(search, recordOr(usageOfChunk(answer)))

/** Returns the search tool calls in a response or a stream event, by choice and index. */
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

/** Whether a response or a stream event cites a search result; Zhipu lists pages beside `choices`. */
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

class SearchedStream implements StreamReader {
  private readonly reader: StreamReader
  private readonly search: Search
  private readonly signs: Signs = { told: null, isShown: false, calls: new Set() }
  private usage: UsageReading | undefined = undefined

  constructor(reader: StreamReader, search: Search) {
    this.reader = reader
    this.search = search
  }

  read(chunk: JsonRecord): EventReport {
    const report = this.reader.read(chunk)
    const { search, signs } = this
    signs.told = toldIn(search, chunk) ?? signs.told
    signs.isShown ||= isShownIn(chunk)
    for (const call of callsIn(search, chunk)) signs.calls.add(call)
    const extras = extrasOf(search, searchesOf(search, signs))
    this.usage = report.usage ?? this.usage
    const used = this.usage === undefined ? {} : { usage: withExtras(this.usage, extras) }
    return { ...report, extras, ...used }
  }

  end(): ChatEvent[] {
    return this.reader.end?.() ?? []
  }

  isComplete(at: StreamState): boolean {
    return this.reader.isComplete?.(at) === true
  }
}
