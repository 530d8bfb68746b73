import {
  type FieldProblem,
  type RequestFigures,
  type SeenResponse,
  type Metering,
  countMember,
  flagMember,
  invalid,
  missing,
} from '../protocols/dialect/surface.ts'
import type { UsedExtras } from '../../ledger/price/price-lines.ts'
import { AppError } from '../../app-error.ts'
import { isAskedFor } from '../protocols/canonical/reading.ts'
import {
  ASKED_TOKENS_MAX,
  NO_USAGE,
  USAGE_TOKENS_MAX,
  type UsageReading,
} from '../protocols/canonical/token-usage.ts'
import type { AnswerReading } from '../protocols/dialect/dialect.ts'
import { dialects } from '../conversion/dialects.ts'
import { memberRange, memberValue, type ScannedBody } from '../json/body-scan.ts'
import {
  arrayOr,
  isRecord,
  parseJson,
  recordOr,
  wordOf,
  type JsonRecord,
} from '../json/json-value.ts'
import { TypedStream } from './media-stream.ts'
import { errorOf } from '../protocols/openai-chat/answer-error.ts'
import { GatheredResponse } from '../protocols/openai-responses/gathered-response.ts'
import { readUsage } from '../protocols/openai-chat/usage.ts'
import { orOnline, routedSearch, searchesTold, type AskedSearch } from './asked-search.ts'
import { responseAsEvents } from '../protocols/openai-responses/as-events.ts'
import { responseErrorPiece } from '../protocols/openai-responses/client.ts'
import {
  containerPrices,
  containersIn,
  refuseLaterSizes,
  usedContainer,
  type ContainerPrices,
} from '../protocols/openai-responses/containers.ts'
import type { EventNumbers } from '../protocols/openai-responses/stream-writer.ts'
import { isLook } from '../protocols/openai-responses/tools/searches.ts'
import {
  eventsOfResponse,
  ResponsesStreamReader,
} from '../protocols/openai-responses/upstream/read-answer.ts'
import {
  generatedImageTokens,
  withBilledSearches,
  withToldCounts,
} from '../protocols/openai-responses/tools/told-usage.ts'

/**
 * The Responses API, passed from client to upstream. Source: OpenAI's API reference, "Responses"
 * and "Streaming events".
 */

const TOOL_CALLS_MAX = 1000

/** The data of a call that reading its response needs. */
interface ReadFor {
  containers: ContainerPrices
  seen: SeenResponse
  isStored: boolean
  /** The search that an aggregator such as OpenRouter was asked for; null if none. */
  search: AskedSearch | null
}

export function responseFigures(body: ScannedBody): RequestFigures | FieldProblem {
  refuseElsewhere(body)
  return isAbsent(body, 'input') ? missing('input') : figuresOf(body)
}

/**
 * Returns the figures of a compaction. It is not stored: no later request can continue it by its
 * id.
 */
export function compactionFigures(body: ScannedBody): RequestFigures | FieldProblem {
  refuseElsewhere(body)
  if (isAbsent(body, 'input') && isAbsent(body, 'previous_response_id')) return missing('input')
  const figures = figuresOf(body)
  if ('field' in figures) return figures
  const { seen: _seen, ...others } = figures
  return { ...others, isStream: false }
}

const isAbsent = (body: ScannedBody, name: string): boolean =>
  memberRange(body, name) === null || memberValue(body, name) === null

function figuresOf(body: ScannedBody): RequestFigures | FieldProblem {
  refuseLaterSizes(body)
  const limit = { min: 0, max: ASKED_TOKENS_MAX, otherwise: 0 }
  const maxTokens = countMember(body, 'max_output_tokens', limit)
  if (maxTokens === null) return invalid('max_output_tokens')
  const isStream = flagMember(body, 'stream')
  if (isStream === null) return invalid('stream')
  const calls = countMember(body, 'max_tool_calls', { min: 0, max: TOOL_CALLS_MAX, otherwise: 1 })
  if (calls === null) return invalid('max_tool_calls')
  const seen: SeenResponse = { id: null, totalTokens: 0, itemIds: [] }
  const tools = arrayOr(memberValue(body, 'tools'))
  const containers = containerPrices(tools)
  const isStored = memberValue(body, 'store') !== false
  const asked = routedSearch(body)
  return {
    maxCompletionTokens: maxTokens === 0 ? null : maxTokens,
    isStream,
    wantsUsage: false,
    seen,
    searched(_pricedAs, sentAs) {
      const search = orOnline(asked, sentAs)
      return {
        estimate: null,
        extras: declaredTools(tools, { calls, containers, search }),
        reading: responseReading({ containers, seen, isStored, search }),
      }
    },
  }
}

/**
 * Rejects state that this server cannot see: a background response could not be charged, and a
 * conversation or a stored prompt belongs to the user who created it.
 */
function refuseElsewhere(body: ScannedBody): void {
  const isIn = (field: string): boolean => isAskedFor(memberValue(body, field))
  const field = ['background', 'conversation', 'prompt'].find(isIn)
  if (field !== undefined) throw new AppError('relay_feature_not_offered', { field })
}

/** Returns the maximum calls of tools that the upstream runs itself, to reserve their cost. */
function declaredTools(
  tools: readonly unknown[],
  { calls, containers, search }: Pick<ReadFor, 'containers' | 'search'> & { calls: number },
): UsedExtras {
  const counts: Record<string, number> = {}
  for (const tool of tools) {
    const name = toolOfType(wordOf(recordOr(tool).type))
    if (name !== null) counts[name] = calls
  }
  // A container is charged once, however often it is used.
  for (const name of containers.values()) counts[name] = (counts[name] ?? 0) + 1
  if (search !== null) counts[search.tool] = search.apiece * Math.max(1, calls)
  return Object.keys(counts).length === 0 ? {} : { tools: counts }
}

function toolOfType(type: string): string | null {
  if (type.startsWith('web_search_preview')) return 'web_search_preview'
  if (type.startsWith('web_search')) return 'web_search'
  // xAI's search of X, which is charged per post.
  if (type === 'x_search') return 'x_posts'
  return ['file_search', 'image_generation'].includes(type) ? type : null
}

/** Creates the reader of one call. Each call has its own, because it keeps state. */
function responseReading(call: ReadFor): Metering['reading'] {
  const numbers: EventNumbers = { next: 0 }
  return {
    ...dialects.openai,
    readAnswer: (bytes) => read(bytes, call),
    readStream() {
      const reader = new ResponsesStreamReader()
      const done: unknown[] = []
      numbers.next = 0
      return new TypedStream({
        isLast: (type) => /^response\.(?:completed|incomplete|failed)$/.test(type),
        lastEvents: 1,
        usageOf({ response }) {
          if (!isRecord(response) || !isRecord(response.usage)) return null
          const whole =
            arrayOr(response.output).length === 0 ? { ...response, output: done } : response
          return usageOf(whole, call)
        },
        eventsOf: (event) => reader.eventsOf(event),
        extrasOf({ type }) {
          const tools =
            type === 'response.output_item.done' ? toolsRun({ output: done }, 0, call) : null
          return tools === null ? null : { tools }
        },
        note({ type, item, response, sequence_number: number }) {
          // Errors are rewritten and keep their sequence number.
          if (Number.isSafeInteger(number) && type !== 'error') numbers.next = Number(number) + 1
          if (type === 'response.output_item.done') {
            done.push(item)
            noteItems([item], call)
          }
          if (isRecord(response)) noteResponse(response, call)
        },
      })
    },
    wholeAsEvents: responseAsEvents,
    gatherer: () => new GatheredResponse(),
    end: null,
    errorPiece: (error, requestId) => responseErrorPiece(error, requestId, numbers.next),
  }
}

function noteResponse(response: JsonRecord, call: ReadFor): void {
  const total = recordOr(response.usage).total_tokens
  if (typeof response.id !== 'string') return
  const isCount = typeof total === 'number' && Number.isInteger(total) && total >= 0
  // A response that is not stored cannot be continued.
  if (call.isStored) call.seen.id = response.id
  call.seen.totalTokens = isCount ? Math.min(total, ASKED_TOKENS_MAX) : 0
  noteItems(arrayOr(response.output), call)
}

/**
 * Records items; a stream contains each twice. Their containers persist even if nothing is stored.
 */
function noteItems(items: readonly unknown[], { seen, isStored }: ReadFor): void {
  for (const item of items.map(recordOr)) {
    if (isStored) seen.itemIds.push(wordOf(item.id))
    seen.itemIds.push(...containersIn(item))
  }
}

function read(bytes: Buffer, call: ReadFor): AnswerReading {
  const value = parseJson(bytes.toString('utf8'))
  if (!isRecord(value)) return { kind: 'malformed' }
  const hasUsage = isRecord(value.usage)
  // A failed response with usage is charged; the client receives the error in it.
  const error = errorOf(value)
  if (error !== undefined && !(value.object === 'response' && hasUsage)) {
    return { kind: 'error', error }
  }
  if (!Array.isArray(value.output)) return { kind: 'malformed' }
  noteResponse(value, call)
  return { kind: 'ok', usage: usageOf(value, call), events: () => eventsOfResponse(value) }
}

/** Returns tokens and tool calls that were run: a tool that is only declared costs nothing. */
function usageOf(response: JsonRecord, call: ReadFor): UsageReading {
  const reading = readUsage(response.usage, USAGE_TOKENS_MAX)
  const tools = toolsRun(response, reading.usage?.reasoningTokens ?? 0, call)
  if (reading.usage === null) return blank(reading)
  const beside = {
    ...(tools === null ? {} : { tools }),
    ...generatedImageTokens(response, USAGE_TOKENS_MAX),
  }
  if (Object.keys(beside).length === 0) return reading
  return { ...reading, usage: { ...reading.usage, extras: { ...reading.usage.extras, ...beside } } }
}

const blank = (reading: UsageReading): UsageReading =>
  reading.fault === 'absent' ? NO_USAGE : reading

const ITEMS: ReadonlyMap<unknown, string> = new Map([
  ['web_search_call', 'web_search'],
  ['openrouter:web_search', 'web_search'],
  ['file_search_call', 'file_search'],
  ['image_generation_call', 'image_generation'],
])

/** Returns the number of calls by tool; null if none was run. */
function toolsRun(
  response: JsonRecord,
  reasoningTokens: number,
  { containers, search }: ReadFor,
): Record<string, number> | null {
  const isPreview = arrayOr(response.tools).some((tool) =>
    wordOf(recordOr(tool).type).startsWith('web_search_preview'),
  )
  // `web_search_preview` costs more than `web_search`, except with reasoning models.
  const searching = isPreview && reasoningTokens === 0 ? 'web_search_preview' : 'web_search'
  const counts: Record<string, number> = {}
  const paid = new Set<unknown>()
  for (const sent of arrayOr(response.output)) {
    const item = recordOr(sent)
    if (item.status === 'failed' || isLook(item)) continue
    const container = usedContainer(item, containers)
    const tool = container?.name ?? ITEMS.get(item.type)
    if (tool === undefined) continue
    if (container?.id !== undefined) {
      if (paid.has(container.id)) continue
      paid.add(container.id)
    }
    const name = tool === 'web_search' ? searching : tool
    counts[name] = (counts[name] ?? 0) + 1
  }
  const paidFor =
    search === null
      ? withToldCounts(withBilledSearches(counts, response, searching), response)
      : routed(counts, response, search)
  return Object.keys(paidFor).length === 0 ? null : paidFor
}

/** Counts searches under the name with which they were requested, as chat does. */
function routed(
  { web_search: ran = 0, web_search_preview: ranSo = 0, ...others }: Record<string, number>,
  { usage, output }: JsonRecord,
  search: AskedSearch,
): Record<string, number> {
  const told = searchesTold(search, recordOr(usage)) ?? 0
  const count = Math.max(told, ran + ranSo, arrayOr(output).some(citesPage) ? 1 : 0)
  return count === 0 ? others : { ...others, [search.tool]: count * search.apiece }
}

const citesPage = (item: unknown): boolean =>
  arrayOr(recordOr(item).content)
    .flatMap((part) => arrayOr(recordOr(part).annotations))
    .some((annotation) => recordOr(annotation).type === 'url_citation')
