import { dialectOf, responsesDialect } from '../conversion/dialects.ts'
import { cutAtStopTexts } from '../protocols/dialect/stop-texts.ts'
import { toolsAsAsked } from '../protocols/dialect/tool-calls.ts'
import type { AnswerReader } from '../protocols/dialect/dialect.ts'
import type { WholeAnswer } from '../protocols/dialect/stream-output.ts'
import { answerOf } from '../protocols/canonical/gathered-answer.ts'
import {
  chained,
  NO_CHANGES as NO_ANSWER_CHANGES,
  type AnswerChanges,
} from '../protocols/dialect/answer-changes.ts'
import type { Route } from './route.ts'
import type { CallInput } from './read-request.ts'
import { type Price, findPrice } from '../../ledger/price.ts'
import { type RoutableChannel, sentModel } from '../routing/choose-channel.ts'
import type { RequestFigures } from '../protocols/dialect/surface.ts'
import { channelType } from '../../../contract/channel-types.ts'
import { AppError } from '../../app-error.ts'
import { holdsType } from '../../option/option-value.ts'
import type { UsedExtras } from '../../ledger/price/price-lines.ts'
import { withOwnCallIds } from '../protocols/canonical/call-id.ts'
import type { TokenUsage } from '../protocols/canonical/token-usage.ts'
import type { AnswerHead, StreamGatherer, UpstreamDialect } from '../protocols/dialect/dialect.ts'
import type { Metering } from '../protocols/dialect/metering.ts'
import { dialects } from '../conversion/dialects.ts'
import { embeddingConversion } from '../conversion/embedding.ts'
import { RequestNotes } from '../protocols/canonical/request-notes.ts'
import { cannotSay } from '../protocols/dialect/field-names.ts'
import { lackingEdits, withoutLacking, type Steering } from '../protocols/dialect/steering.ts'
import { finished, headOf, readyToSend, type Sent } from '../protocols/dialect/finish.ts'
import {
  PAID_BY_THE_PIECE,
  providerCallOf,
  WRITING_TASKS,
  type Provider,
  type ProviderCall,
  type ProviderChannel,
  type Task,
} from '../protocols/dialect/provider.ts'
import { providerOf } from '../vendors/registry.ts'
import { traitsOf } from '../vendors/registry.ts'
import type { UpstreamTraits } from '../protocols/dialect/traits.ts'
import { withReasoning } from '../vendors/shared/reasoning.ts'
import { outputLimitEdits } from '../conversion/output-limit.ts'
import { declaresSearch, searchExtras, withSearchAt } from '../conversion/search.ts'
import { outputLimitOf } from '../../model/output-limit.ts'
import type { Capabilities } from '../../model/capabilities.ts'
import { meteringFigures } from '../../model/model-table.ts'
import { estimatePromptTokens, approximateTokens } from '../count/estimate.ts'
import { dialectEdits, systemPromptEdit, takesSystemPrompt } from '../conversion/splice.ts'
import {
  convertedOutput,
  splicedOutput,
  type StreamOutput,
} from '../protocols/dialect/stream-output.ts'
import { answerBytesMax } from './answer-room.ts'
import { silenceLimits } from '../transport/upstream-call.ts'
import { serverSentEvents, type Wire } from '../transport/wire.ts'
import { scanBody, type ScannedBody, memberValue } from '../json/body-scan.ts'
import { splice, type MemberEdit } from '../json/body-splice.ts'
import { isRecord, parseJson, recordOr, type JsonRecord } from '../json/json-value.ts'
import type { Call, RelayParts } from './call.ts'
import { shown } from '../protocols/dialect/relay-error.ts'
import {
  callsToolsByResponses,
  chatWantsResponses,
  thoughtless,
  wantsResponses,
  withoutThoughts,
} from '../protocols/openai-responses/with-tools.ts'
import { searchedByName } from '../surfaces/searched-chat.ts'
import type { UpstreamRequest } from '../transport/upstream-call.ts'

/**
 * One attempt to serve the call with one channel: the upstream request, how the response is
 * converted for the client (`planAttempt`), and the amount to reserve (`reserve.ts`). If client and
 * upstream use one dialect, the client's bytes are spliced and the response passes through;
 * otherwise both are converted. This file sends nothing.
 */
export interface Attempt {
  channel: RoutableChannel
  /** The model name that is sent upstream. */
  modelName: string
  price: Price
  /** How a call with this price is measured; absent if by its text alone. */
  metering?: Metering
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
  /** The channel's system prompt is added to the call. */
  resetsSystemPrompt: boolean
  /** How the prompt is counted if the upstream does not report it. */
  prompt: Prompt
  /** Points reserved for the call; 0 before `reserve.ts`. */
  reserved: number
  /**
   * The most tokens that each reply may have, because the balance does not cover more; null if it
   * covers all that client and model allow.
   */
  outputLimit: number | null
  /** A trial: the channel or its key was disabled, and this call tests whether it has recovered. */
  isTrial: boolean
}

/** The upstream request of an attempt and how its response is read. */
export type AttemptPlan = Omit<
  Attempt,
  | 'channel'
  | 'modelName'
  | 'price'
  | 'metering'
  | 'resetsSystemPrompt'
  | 'prompt'
  | 'reserved'
  | 'outputLimit'
  | 'isTrial'
>

/** How the prompt of an attempt is counted. */
export interface Prompt {
  /** Counts the prompt exactly; called only if the upstream does not report it. */
  count(): number | Promise<number>
  /** The usage that is assumed if it is not reported; null if it is counted. */
  estimate: TokenUsage | null
  /** The response is text that the model writes for the call, and nothing else is charged. */
  isText: boolean
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
  isForgetful?: boolean
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
  const sending = {
    channel,
    modelName,
    price,
    outputLimit,
    ...(metering === undefined ? {} : { metering }),
  }
  const plan = planRequest(parts, call, sending)
  if (plan instanceof AppError) return plan
  return {
    ...plan,
    ...sending,
    resetsSystemPrompt: channel.systemPrompt !== '' && takesSystemPrompt(input.surface),
    prompt: promptOf(parts, call, { modelName, estimate: plan.estimate }),
    reserved: 0,
    isTrial: false,
  }
}

function promptOf(
  { app, counter }: RelayParts,
  call: Call,
  { modelName, estimate }: { modelName: string; estimate: TokenUsage | null },
): Prompt {
  const { surface, body } = call.input
  const isWritten = WRITING_TASKS.has(surface.task) && memberValue(body, 'echo') !== true
  return {
    estimate,
    // A response that repeats its prompt contains text that the model did not write.
    isText: estimate === null && isWritten,
    count: async () =>
      call.route.earlierTokens +
      (app.options.flag('ApproximateTokenEnabled')
        ? approximateTokens(body.bytes.length)
        : await counter.countRequest({
            surface: surface.count,
            model: modelName,
            bytes: body.bytes,
          })),
  }
}

/** The channel of a call, the model name sent to it, and the price, if it has one. */
type Sending = Pick<Attempt, 'channel' | 'modelName'> &
  Partial<Pick<Attempt, 'price' | 'metering' | 'outputLimit'>>

/** Returns the request for a channel, or the reason why the channel cannot serve the call. */
export function planRequest(
  parts: RelayParts,
  call: Call,
  sending: Sending,
  changes: PlanChanges = NO_CHANGES,
): AttemptPlan | AppError {
  const { channel, modelName } = sending
  const { surface } = call.input
  const { type } = channel
  const capabilities = parts.app.models.table().capabilitiesOf(modelName, type)
  const provider = providerOf(type, modelName, surface.task, capabilities)
  if (provider === null) return nowhere(call, channel, false)
  const { isStream } = call.figures
  const task = taskOf(parts, call, { provider, sending, capabilities, changes })
  const dropsHostedTools = holdsType(parts.app.options.text('DropHostedTools'), channel.type)
  const notes = new RequestNotes(isStrict(parts, call), dropsHostedTools)
  const wanted = {
    ...providerCallOf(parts.app, { task, model: modelName, isStream, type }, call),
    isReasoningMissing: changes.isReasoningMissing ?? false,
    notes,
  }
  const place = placeOf(provider, channel, wanted)
  if (place === null) return nowhere(call, channel, CHATS.has(surface.task))
  try {
    const { to } = place
    const sent = { channel, to }
    const limited = withOutputLimit(call, withoutForm(call.input, provider), {
      ...to,
      outputLimit: sending.outputLimit ?? Infinity,
    })
    surface.refuse?.(limited.body, modelName)
    const input = { ...limited, body: withSystemPrompt(limited, channel.systemPrompt) }
    const isSpliced = speaksAsAsked(provider, to, call)
    const isResponse = !isSpliced && to.task === 'responses'
    const dialect = isResponse ? responsesDialect : dialectOf(provider)
    const metering = isSpliced ? sending.metering : searchOf(sending, to, dialect)
    const wire = provider.wire ?? serverSentEvents
    const isMeteredStream = isStream && (metering === undefined || MAY_SEARCH.has(to.task))
    const asksForUsage = isMeteredStream && provider.asksForUsage(channel, to)
    const lacks = provider.lacks ?? []
    const answering = isSpliced
      ? splicing(call, input, sending, {
          capabilities,
          asksForUsage,
          refusesUsage: isMeteredStream && !asksForUsage,
          showsUsage: isUsageShown(parts, call),
          edits: to.task === 'chat' ? lackingEdits(input.body, lacks, notes) : [],
        })
      : converting(parts, call, input, {
          sending,
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
        body: answering.sent,
      }),
      body: input.form === null ? bodyFor(provider, sent, answering.sent) : answering.sent,
      ...silenceLimits(parts.app.config, { isWhole: comesWhole(provider, sent) }),
    }
    return {
      task: to.task,
      notes,
      request: readyToSend(provider, sent, request, parts.app.clock),
      estimate: sending.metering?.estimate ?? answering.estimate ?? null,
      extras: metering?.extras ?? answering.extras ?? sending.metering?.extras,
      limitsOutput: isSpliced || dialect.limitsOutput !== false,
      upstream: metering?.reading ?? provider.reading ?? dialect,
      wire,
      gathers: WRITING_TASKS.has(to.task) ? answering.gathers : null,
      convert: answering.convert,
      output: answering.output,
      answerBytesMax: (isEvents) => answerBytesMax({ ...to, body: input.body.bytes }, isEvents),
    }
  } catch (error) {
    // Request errors go to the client; anything else is a fault of this server.
    if (error instanceof AppError) return error
    throw error
  }
}

const NO_CHANGES: PlanChanges = {}

/** Returns the body as the provider requires it, then adapted to the model. */
function bodyFor(provider: Provider, sent: Sent, bytes: Buffer): Buffer {
  const body = finished(provider, sent, bytes)
  const mayLackReasoning = provider.dialect === 'openai' || sent.to.isReasoningMissing === true
  return mayLackReasoning ? withReasoning(provider, sent, body) : body
}

/** Whether no member may be dropped: by the operator's option or the client's header. */
const isStrict = ({ app }: RelayParts, { request }: Call): boolean =>
  app.options.flag('StrictParameters') || request.headers['x-gatehouse-strict'] === '1'

/**
 * Whether nothing is sent before the whole response is ready. Images and audio that take several
 * requests are made whole even if a stream is requested; the stream is then built from the result.
 */
function comesWhole(
  { via }: Provider,
  { channel, to }: { channel: ProviderChannel; to: ProviderCall },
): boolean {
  if (!to.isStream) return to.task !== 'countTokens'
  return PAID_BY_THE_PIECE.has(to.task) && (via?.(channel, to) ?? null) !== null
}

/** Returns the call as the provider accepts it: as JSON if the provider has no form uploads. */
function withoutForm(input: CallInput, { ofForm }: Provider): CallInput {
  if (input.form === null || ofForm === undefined) return input
  return { ...input, form: null, body: scannedAgain(ofForm(input.form)) }
}

/**
 * Lowers the output limit in the client's body, still in the client's dialect: to the tokens that
 * the caller's balance covers, and to the model's maximum, which upstreams refuse to exceed. A
 * response header reports the lowered limit.
 */
function withOutputLimit(
  call: Call,
  input: CallInput,
  to: Pick<ProviderCall, 'model' | 'capabilities'> & { outputLimit: number },
): CallInput {
  const { maxCompletionTokens, replies = 1 } = call.figures
  const isSaid = maxCompletionTokens !== null && WRITING_TASKS.has(input.surface.task)
  const known = isSaid ? outputLimitOf(to) : null
  const isAbove = isSaid && known !== null && maxCompletionTokens / replies > known
  const limit = Math.min(to.outputLimit, isAbove ? known : Infinity)
  setHeader(call, 'X-Gatehouse-Output-Limit', limit === Infinity ? null : String(limit))
  if (limit === Infinity) return input
  const edits = outputLimitEdits(input.surface, input.body, { ...to, limit })
  return { ...input, body: scannedAgain(splice(input.body, edits)) }
}

/** Sets a header of every response; null removes a value that an earlier attempt set. */
function setHeader({ headers }: Call, name: string, value: string | null): void {
  const at = headers.indexOf(name)
  if (at >= 0) headers.splice(at, 2)
  if (value !== null) headers.push(name, value)
}

function scannedAgain(bytes: Buffer): ScannedBody {
  const body = scanBody(bytes)
  if (!body.ok) throw new Error(`a written body is broken: ${body.reason}`)
  return body
}

/** Returns the refusal for a channel that has no endpoint for the call. */
function nowhere(
  { language }: Call,
  channel: RoutableChannel,
  /**
   * The call is a chat. Every provider supports chat, so the channel's address or account is
   * incomplete.
   */
  isIncomplete: boolean,
): AppError {
  const { label, retired } = channelType(channel.type)
  const type = label[language]
  if (retired) return new AppError('channel_retired', { type })
  return new AppError(isIncomplete ? 'channel_incomplete' : 'channel_protocol_unsupported', {
    type,
  })
}

/** Whether client and upstream use the same dialect and task. */
const speaksAsAsked = (
  { dialect }: Provider,
  { task }: ProviderCall,
  { input: { surface } }: Call,
): boolean => dialect === surface.dialect && task === surface.task && surface.spokenIn === undefined

/** Tasks in OpenAI's dialect whose upstreams may search the web. */
const MAY_SEARCH: ReadonlySet<Task> = new Set(['chat', 'completions'])

/**
 * Returns the web search of a call. Some models search the web in OpenAI chat whichever dialect the
 * client uses (measured).
 */
function searchOf(
  { price, modelName }: Sending,
  { task }: ProviderCall,
  dialect: UpstreamDialect,
): Metering | undefined {
  if (price === undefined || dialect.name !== 'openai' || !MAY_SEARCH.has(task)) return undefined
  return searchedByName(price.pricedAs, modelName)
}

/** Rejects a spliced body that names another user's stored items, which the upstream would read. */
function refuseForeignItems({ referred }: Route, type: number): void {
  const id =
    referred?.foreign ??
    (traitsOf(type).servesOpenai === true ? referred?.foreignBare : null) ??
    null
  if (id !== null) throw new AppError('response_item_unknown', { id: shown(id) })
}

/** Whether the client receives the usage of a stream. */
const isUsageShown = ({ app }: RelayParts, { figures }: Call): boolean =>
  figures.wantsUsage || app.config.ENFORCE_INCLUDE_USAGE

const CHATS: ReadonlySet<Task> = new Set(['chat', 'responses'])

interface TaskChoice {
  provider: Provider
  sending: Sending
  capabilities: Capabilities
  changes: PlanChanges
}

/**
 * Returns the task for the channel. It may differ from the client's: some models or servers only
 * support the Responses API.
 */
function taskOf(
  { chatOnly, responsesOnly }: RelayParts,
  { input }: Call,
  { provider, sending, capabilities, changes }: TaskChoice,
): Task {
  const { surface, body, model } = input
  const { channel, modelName } = sending
  const { task, dialect, spokenIn } = surface
  if (task === 'responses') {
    return changes.isChat === true || chatOnly.has(channel, model) ? 'chat' : 'responses'
  }
  // Other upstreams do not have the Responses API.
  if (task !== 'chat' || provider.dialect !== 'openai') return task
  const isOther = dialect !== 'openai' || spokenIn !== undefined
  const wants = isOther ? wantsResponses : chatWantsResponses
  const isForced = changes.isResponse === true || responsesOnly.has(channel, model)
  const traits = traitsOf(channel.type)
  const isSearch = isOther && searchesByResponses(traits, modelName, body)
  const at = { type: channel.type, model: modelName, capabilities, traits }
  if (!isForced && !isSearch && !wants(at, body)) return task
  return changes.isChat === true || chatOnly.has(channel, model) ? 'chat' : 'responses'
}

/**
 * Whether a chat must use the Responses API to search the web. OpenAI's models search there, except
 * those that search in chat only.
 */
const searchesByResponses = (traits: UpstreamTraits, model: string, body: ScannedBody): boolean =>
  traits.servesOpenai === true &&
  meteringFigures(model).search_tool === undefined &&
  declaresSearch(body)

interface UpstreamPlace {
  to: ProviderCall
  url: string
}

/**
 * Returns the endpoint and its task: chat if the provider has no Responses API. Null if the
 * provider has an endpoint for neither.
 */
export function placeOf(
  provider: Provider | null,
  channel: ProviderChannel,
  to: ProviderCall,
): UpstreamPlace | null {
  const url = provider?.url(channel, to) ?? null
  if (url !== null) return { to, url }
  return to.task === 'responses' ? placeOf(provider, channel, { ...to, task: 'chat' }) : null
}

/** Returns the `Accept` header. Audio and subtitles are not JSON. */
function acceptOf({ isStream, metering }: RequestFigures, wire: Wire): string {
  if (isStream) return wire.accept
  return metering === undefined ? 'application/json' : '*/*'
}

/** Adds the channel's system prompt to the client's body, in the client's dialect. */
function withSystemPrompt({ surface, body }: CallInput, systemPrompt: string): ScannedBody {
  if (systemPrompt === '') return body
  const edits = systemPromptEdit(surface, body, systemPrompt)
  return edits.length === 0 ? body : scannedAgain(splice(body, edits))
}

type Answering = Pick<AttemptPlan, 'convert' | 'gathers' | 'output'> & {
  sent: Buffer
  estimate?: TokenUsage | undefined
  extras?: UsedExtras
}

interface ToSplice {
  capabilities: Capabilities
  asksForUsage: boolean
  refusesUsage: boolean
  showsUsage: boolean
  /** Edits that remove members which the provider does not support. */
  edits: readonly MemberEdit[]
}

/** Plans an attempt whose client and upstream use one dialect: bytes pass through. */
function splicing(
  call: Call,
  { surface, framing, body, form, model }: CallInput,
  { channel, modelName, metering }: Sending,
  { capabilities, asksForUsage, refusesUsage, showsUsage, edits: lacking }: ToSplice,
): Answering {
  refuseForeignItems(call.route, channel.type)
  const { wantsUsage } = call.figures
  const edits = [
    ...dialectEdits(surface, body, {
      traits: traitsOf(channel.type),
      model: modelName,
      capabilities,
      isRenamed: modelName !== model,
      asksForUsage: asksForUsage && !wantsUsage,
      refusesUsage: refusesUsage && wantsUsage,
    }),
    ...lacking,
  ]
  const client = metering?.reading ?? dialects[surface.dialect]
  const changed = (): Buffer => form?.withModel(modelName) ?? splice(body, edits)
  return {
    sent: edits.length === 0 ? (form ?? body).bytes : changed(),
    convert: null,
    gathers: () => client.gatherer(),
    output: () => splicedOutput(client, { framing, wantsUsage: showsUsage }),
  }
}

interface ToConvert {
  sending: Sending
  dialect: UpstreamDialect
  to: ProviderCall
  asksForUsage: boolean
  notes: RequestNotes
  lacks: readonly Steering[]
  changes: PlanChanges
}

/**
 * Plans an attempt whose client and upstream use different dialects: converts the request to the
 * upstream's dialect and the response to the client's.
 */
function converting(
  parts: RelayParts,
  call: Call,
  { surface, framing, body, model: requestedModel }: CallInput,
  { sending, dialect: upstream, to, asksForUsage, notes, lacks, changes: form }: ToConvert,
): Answering {
  const { app } = parts
  const { modelName } = sending
  const { isStream } = call.figures
  const { type } = sending.channel
  const traits = traitsOf(type)
  const { name: dialect } = upstream
  const value = recordOr(parseJson(body.bytes.toString('utf8')))
  const isResponse = surface.task === 'responses'
  const client = surface.client?.(value) ?? dialects[surface.dialect]
  const head: AnswerHead = {
    id: `${isResponse ? 'resp_' : 'chatcmpl-'}${call.requestId}`,
    model: requestedModel,
    nowSeconds: app.clock.nowSeconds(),
  }
  const output = (changes: AnswerChanges): StreamOutput => {
    const wantsUsage = isUsageShown(parts, call)
    const promptTokens = client.name === 'anthropic' ? estimatePromptTokens(body, modelName) : 0
    return convertedOutput(client, changes, {
      framing,
      head: { ...head, wantsUsage, promptTokens },
    })
  }
  if (CHATS.has(surface.task)) {
    const read = withoutLacking(client.readRequest(value, notes), lacks)
    const { capabilities } = to
    const isThoughtless = dialect === 'openai' && callsToolsByResponses({ ...to, type, traits })
    const said = form.isForgetful === true ? withoutThoughts(read) : read
    const searchTarget = { dialect, traits, type, model: modelName, capabilities }
    const asked = {
      ...(isThoughtless ? thoughtless(said) : said),
      messages: withOwnCallIds(said.messages),
    }
    const request = asked.search === undefined ? asked : withSearchAt(asked, searchTarget)
    // Only Gemini's upstreams can be asked for images in the response.
    if (request.modalities !== undefined && dialect !== 'gemini') {
      throw cannotSay(request, 'modalities')
    }
    const safety = app.config.GEMINI_SAFETY_SETTING
    const target = { model: modelName, isStream, asksForUsage, safety, type, traits, capabilities }
    const sent = bytesOf(upstream.writeRequest(request, target))
    const changes = (): AnswerChanges =>
      chained([
        cutAtStopTexts(notes.stops, request.choices),
        toolsAsAsked(upstream, read, call.requestId),
      ])
    return {
      sent,
      estimate: upstream.estimate?.(request),
      extras: request.search === undefined ? {} : searchExtras(request, searchTarget),
      convert: ({ events }, usage) =>
        client.writeAnswer(answerOf(changes().events(events()), usage), head),
      gathers: 'events',
      output: () => output(changes()),
    }
  }
  const embedding = embeddingConversion(surface.task, upstream, value, traits)
  if (embedding === null) {
    const label = channelType(sending.channel.type).label
    throw new AppError('channel_protocol_unsupported', { type: label[call.language] })
  }
  return {
    sent: bytesOf(embedding.request(modelName)),
    convert: ({ body: answer }, usage) => {
      const vectors = parseJson(answer.toString('utf8'))
      return isRecord(vectors) ? embedding.answer(vectors, usage, requestedModel) : null
    },
    gathers: null,
    output: () => output(NO_ANSWER_CHANGES),
  }
}

const bytesOf = (value: JsonRecord): Buffer => Buffer.from(JSON.stringify(value))
