import { dialectOf, responsesDialect } from '../conversion/dialects.ts'
import type { AnswerReader, StreamGatherer, UpstreamDialect } from '../protocols/dialect/dialect.ts'
import type { WholeAnswer, StreamOutput } from '../protocols/dialect/stream-output.ts'
import { type Price, findPrice } from '../../ledger/price.ts'
import { type RoutableChannel, sentModel } from '../routing/choose-channel.ts'
import type { RequestFigures, Metering } from '../protocols/dialect/surface.ts'
import { channelType } from '../../../contract/channel-types.ts'
import { AppError } from '../../app-error.ts'
import { holdsType } from '../../option/option-value.ts'
import type { UsedExtras } from '../../ledger/price/price-lines.ts'
import type { TokenUsage } from '../protocols/canonical/token-usage.ts'
import { RequestNotes } from '../protocols/canonical/request-notes.ts'
import { lackingEdits } from '../protocols/dialect/steering.ts'
import {
  headOf,
  readyToSend,
  PAID_BY_THE_PIECE,
  placeOf,
  providerCallOf,
  WRITING_TASKS,
  type Provider,
  type ProviderCall,
  type ProviderChannel,
  type Task,
} from '../protocols/dialect/provider.ts'
import { providerOf, traitsOf } from '../vendors/registry.ts'
import type { UpstreamTraits } from '../protocols/dialect/traits.ts'
import { declaresSearch } from '../conversion/search.ts'
import type { Capabilities } from '../../model/capabilities.ts'
import { meteringFigures } from '../../model/model-table.ts'
import { approximateTokens } from '../count/estimate.ts'
import { takesSystemPrompt } from '../conversion/splice.ts'
import { answerBytesMax } from './respond/answer-room.ts'
import { silenceLimits, type UpstreamRequest } from '../transport/upstream-call.ts'
import { serverSentEvents, type Wire } from '../transport/wire.ts'
import { type ScannedBody, memberValue } from '../json/body-scan.ts'
import type { JsonRecord } from '../json/json-value.ts'
import type { Call, RelayParts } from './call.ts'
import { shown } from '../protocols/dialect/relay-error.ts'
import { chatWantsResponses, wantsResponses } from '../protocols/openai-responses/with-tools.ts'
import { searchedByName } from '../surfaces/searched-chat.ts'
import {
  bodyFor,
  CHATS,
  withoutForm,
  withOutputLimit,
  withSystemPrompt,
  splicing,
  converting,
  isUsageShown,
} from './exchange.ts'

/** A channel for the call, and its price there. */
export interface ChosenChannel {
  channel: RoutableChannel
  /** The model name that is sent upstream. */
  modelName: string
  /** Absent for requests that cost nothing. */
  price?: Price
  /** How a call with this price is measured; absent if by its text alone. */
  metering?: Metering
  /**
   * The most tokens that each reply may have, because the balance does not cover more; null or
   * absent if it covers all that client and model allow.
   */
  outputLimit?: number | null
}

/**
 * The upstream request of one attempt and how its response is read. If client and upstream use one
 * dialect, the client's bytes are spliced and the response passes through; otherwise both are
 * converted.
 */
export interface PlannedRequest {
  /** The task that the channel is asked for. */
  task: Task
  /** The members of the client's request that are left out or changed. */
  notes: RequestNotes
  request: UpstreamRequest
  /**
   * The usage to reserve, which is charged if usage is not reported; null if the text is counted.
   */
  estimate: TokenUsage | null
  /** Possible usage besides the text, known from channel and model name; reserved with it. */
  extras: UsedExtras | undefined
  /** Whether the upstream accepts a limit of the response's length. */
  limitsOutput: boolean
  /** Reads the upstream's response. */
  upstream: AnswerReader
  /** How the events of a stream are framed. */
  wire: Wire
  /**
   * How a stream that was not requested becomes one response: from its canonical events, or, if the
   * client uses the upstream's dialect, with all its members. Null if no such stream is known.
   */
  gathers: 'events' | (() => StreamGatherer) | null
  /**
   * Converts a whole response for the client, returning null if it is invalid; null if the response
   * passes through unchanged.
   */
  convert: ((answer: WholeAnswer, used: TokenUsage) => JsonRecord | null) | null
  /** Creates the writer of the client's stream. */
  output(): StreamOutput
  /**
   * Returns the largest response that is read whole, in bytes. `isEvents`: it is an event stream.
   */
  answerBytesMax(isEvents: boolean): number
}

/** The result of this stage: one attempt to serve the call with one channel. */
export interface Attempt extends ChosenChannel, PlannedRequest {
  price: Price
  outputLimit: number | null
  /** The channel's system prompt is added to the call. */
  resetsSystemPrompt: boolean
  /** Counts the prompt exactly; called only if the upstream does not report it. */
  countPrompt(): number | Promise<number>
  /** The response is text that the model writes for the call, and nothing else is charged. */
  isText: boolean
  /** Points reserved for the call; 0 before `reserve.ts`. */
  reserved: number
  /** A trial: the channel or its key was disabled, and this call tests whether it has recovered. */
  isTrial: boolean
}

/**
 * Changes for a second attempt at one channel, after the result of the first (`second-form.ts`).
 */
export interface PlanChanges {
  /** Uses chat completions for a Responses API request: the server has no Responses API. */
  isChat?: boolean
  /** Uses the Responses API for a chat: the server or the model has nothing else. */
  isResponse?: boolean
  /** Drops reasoning of earlier turns: another account has encrypted it. */
  dropsReasoning?: boolean
  /** See `ProviderCall`. */
  isReasoningMissing?: boolean
}

/**
 * Prices the call on this channel and plans its request. Returns the refusal if the model has no
 * price there or the channel does not support the call.
 */
export function planAttempt(
  parts: RelayParts,
  call: Call,
  channel: RoutableChannel,
  outputLimit: number | null = null,
): Attempt | AppError {
  const { input, figures } = call
  const modelName = sentModel(channel, input.model)
  const price = findPrice(parts.app.options.ratios(), {
    requested: input.model,
    mapped: modelName,
    channelType: channel.type,
    group: call.route.group,
  })
  if (price === null) return new AppError('model_unpriced', { model: shown(input.model) })
  const byImageToken = price.imageCompletionRatio !== null && price.perCall === null
  const sold = { traits: traitsOf(channel.type), byImageToken }
  const metering =
    figures.metering?.(price.pricedAs, sold) ?? figures.searched?.(price.pricedAs, modelName)
  const chosen = {
    channel,
    modelName,
    price,
    outputLimit,
    ...(metering === undefined ? {} : { metering }),
  }
  const planned = planRequest(parts, call, chosen)
  if (planned instanceof AppError) return planned
  const { surface, body } = input
  const isWritten = WRITING_TASKS.has(surface.task) && memberValue(body, 'echo') !== true
  return {
    ...planned,
    ...chosen,
    resetsSystemPrompt: channel.systemPrompt !== '' && takesSystemPrompt(surface),
    countPrompt: () => countPrompt(parts, call, modelName),
    // A response that repeats its prompt contains text that the model did not write.
    isText: planned.estimate === null && isWritten,
    reserved: 0,
    isTrial: false,
  }
}

async function countPrompt(
  { app, counter }: RelayParts,
  { input: { surface, body }, route }: Call,
  model: string,
): Promise<number> {
  const tokens = app.options.flag('ApproximateTokenEnabled')
    ? approximateTokens(body.bytes.length)
    : await counter.countRequest({ surface: surface.count, model, bytes: body.bytes })
  return route.earlierTokens + tokens
}

/** Returns the request for a channel, or the reason why the channel cannot serve the call. */
export function planRequest(
  parts: RelayParts,
  call: Call,
  chosen: ChosenChannel,
  changes: PlanChanges = NO_CHANGES,
): PlannedRequest | AppError {
  const { channel, modelName } = chosen
  const { surface } = call.input
  const { type } = channel
  const capabilities = parts.app.models.table().capabilitiesOf(modelName, type)
  const provider = providerOf(type, modelName, surface.task, capabilities)
  if (provider === null) return noEndpoint(channel, false)
  const { isStream } = call.figures
  const task = taskOf(parts, call, { provider, chosen, capabilities, changes })
  const dropsHostedTools = holdsType(parts.app.options.text('DropHostedTools'), channel.type)
  const notes = new RequestNotes(isStrict(parts, call), dropsHostedTools)
  const wanted = {
    ...providerCallOf(parts.app, { task, model: modelName, isStream, type }, call),
    isReasoningMissing: changes.isReasoningMissing ?? false,
    notes,
  }
  const place = placeOf(provider, channel, wanted)
  if (place === null) return noEndpoint(channel, CHATS.has(surface.task))
  try {
    const { to } = place
    const sent = { channel, to }
    const limited = withOutputLimit(call, withoutForm(call.input, provider), {
      ...to,
      outputLimit: chosen.outputLimit ?? Infinity,
    })
    surface.refuse?.(limited.body, modelName)
    const input = { ...limited, body: withSystemPrompt(limited, channel.systemPrompt) }
    const isSpliced = matchesClient(provider, to, call)
    const isResponse = !isSpliced && to.task === 'responses'
    const dialect = isResponse ? responsesDialect : dialectOf(provider)
    const metering = isSpliced ? chosen.metering : searchOf(chosen, to, dialect)
    const wire = provider.wire ?? serverSentEvents
    const isMeteredStream = isStream && (metering === undefined || MAY_SEARCH.has(to.task))
    const asksForUsage = isMeteredStream && provider.asksForUsage(channel, to)
    const lacks = provider.lacks ?? []
    const exchange = isSpliced
      ? splicing(call, input, chosen, {
          capabilities,
          asksForUsage,
          refusesUsage: isMeteredStream && !asksForUsage,
          showsUsage: isUsageShown(parts, call),
          edits: to.task === 'chat' ? lackingEdits(input.body, lacks, notes) : [],
        })
      : converting(parts, call, input, {
          chosen,
          dialect,
          to,
          asksForUsage,
          notes,
          lacks,
          changes,
        })
    const request: UpstreamRequest = {
      url: place.url,
      method: 'POST',
      headers: headOf(provider, sent, {
        contentType: input.form?.contentType ?? 'application/json',
        accept: acceptOf(call.figures, wire),
        body: exchange.sent,
      }),
      body: input.form === null ? bodyFor(provider, sent, exchange.sent) : exchange.sent,
      ...silenceLimits(parts.app.config, { isWhole: arrivesWhole(provider, sent) }),
    }
    return {
      task: to.task,
      notes,
      request: readyToSend(provider, sent, request, parts.app.clock),
      estimate: chosen.metering?.estimate ?? exchange.estimate ?? null,
      extras: metering?.extras ?? exchange.extras ?? chosen.metering?.extras,
      limitsOutput: isSpliced || dialect.limitsOutput !== false,
      upstream: metering?.reading ?? provider.reading ?? dialect,
      wire,
      gathers: WRITING_TASKS.has(to.task) ? exchange.gathers : null,
      convert: exchange.convert,
      output: exchange.output,
      answerBytesMax: (isEvents) => answerBytesMax({ ...to, body: input.body.bytes }, isEvents),
    }
  } catch (error) {
    // Request errors go to the client; anything else is a fault of this server.
    if (error instanceof AppError) return error
    throw error
  }
}

const NO_CHANGES: PlanChanges = {}

/** Whether no member may be dropped: by the operator's option or the client's header. */
const isStrict = ({ app }: RelayParts, { request }: Call): boolean =>
  app.options.flag('StrictParameters') || request.headers['x-gatehouse-strict'] === '1'

/**
 * Whether nothing is sent before the whole response is ready. Images and audio that take several
 * requests are made whole even if a stream is requested; the stream is then built from the result.
 */
function arrivesWhole(
  { via }: Provider,
  { channel, to }: { channel: ProviderChannel; to: ProviderCall },
): boolean {
  if (!to.isStream) return to.task !== 'countTokens'
  return PAID_BY_THE_PIECE.has(to.task) && (via?.(channel, to) ?? null) !== null
}

/** Returns the refusal for a channel that has no endpoint for the call. */
function noEndpoint(
  channel: RoutableChannel,
  /**
   * The call is a chat. Every provider supports chat, so the channel's address or account is
   * incomplete.
   */
  isIncomplete: boolean,
): AppError {
  const { label: type, retired } = channelType(channel.type)
  if (retired) return new AppError('channel_retired', { type })
  return new AppError(isIncomplete ? 'channel_incomplete' : 'channel_protocol_unsupported', {
    type,
  })
}

/** Whether client and upstream use the same dialect and task. */
const matchesClient = (
  { dialect }: Provider,
  { task }: ProviderCall,
  { input: { surface } }: Call,
): boolean => dialect === surface.dialect && task === surface.task && surface.spokenIn === undefined

/** Tasks in OpenAI's dialect whose upstreams may search the web. */
const MAY_SEARCH: ReadonlySet<Task> = new Set(['chat', 'completions'])

/**
 * Returns the web search of a call. Some models search the web in OpenAI chat for clients of any
 * dialect (measured).
 */
function searchOf(
  { price, modelName }: ChosenChannel,
  { task }: ProviderCall,
  dialect: UpstreamDialect,
): Metering | undefined {
  if (price === undefined || dialect.name !== 'openai' || !MAY_SEARCH.has(task)) return undefined
  return searchedByName(price.pricedAs, modelName)
}

interface TaskChoice {
  provider: Provider
  chosen: ChosenChannel
  capabilities: Capabilities
  changes: PlanChanges
}

/**
 * Returns the task for the channel. It may differ from the client's: some models or servers only
 * support the Responses API.
 */
function taskOf(
  { lacksResponses, lacksChat }: RelayParts,
  { input }: Call,
  { provider, chosen, capabilities, changes }: TaskChoice,
): Task {
  const { surface, body, model } = input
  const { channel, modelName } = chosen
  const { task, dialect, spokenIn } = surface
  if (task === 'responses') {
    return changes.isChat === true || lacksResponses.has(channel, model) ? 'chat' : 'responses'
  }
  // Other upstreams do not have the Responses API.
  if (task !== 'chat' || provider.dialect !== 'openai') return task
  const isOther = dialect !== 'openai' || spokenIn !== undefined
  const wants = isOther ? wantsResponses : chatWantsResponses
  const isForced = changes.isResponse === true || lacksChat.has(channel, model)
  const traits = traitsOf(channel.type)
  const isSearch = isOther && searchesByResponses(traits, modelName, body)
  const at = { type: channel.type, model: modelName, capabilities, traits }
  if (!isForced && !isSearch && !wants(at, body)) return task
  return changes.isChat === true || lacksResponses.has(channel, model) ? 'chat' : 'responses'
}

/**
 * Whether a chat must use the Responses API to search the web. OpenAI's models search there, except
 * those that search in chat only.
 */
const searchesByResponses = (traits: UpstreamTraits, model: string, body: ScannedBody): boolean =>
  traits.servesOpenai === true &&
  meteringFigures(model).search_tool === undefined &&
  declaresSearch(body)

/** Returns the `Accept` header. Audio and subtitles are not JSON. */
function acceptOf({ isStream, metering }: RequestFigures, wire: Wire): string {
  if (isStream) return wire.accept
  return metering === undefined ? 'application/json' : '*/*'
}
