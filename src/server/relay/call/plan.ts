import { dialectOf, responsesDialect } from '../conversion/dialects.ts'
import { cutAtStopTexts } from '../dialect/stop-texts.ts'
import { toolsAsAsked } from '../dialect/tool-calls.ts'
import type { AnswerReader } from '../dialect/dialect.ts'
import type { WholeAnswer } from '../dialect/stream-output.ts'
import { answerOf } from '../canonical/gathered-answer.ts'
import {
  chained,
  NO_CHANGES as NO_ANSWER_CHANGES,
  type AnswerChanges,
} from '../dialect/answer-changes.ts'
import type { Route } from './route.ts'
import type { CallInput } from './read-request.ts'
import { type Price, findPrice } from '../../ledger/price.ts'
import { type RoutableChannel, sentModel } from '../routing/choose-channel.ts'
import type { RequestFigures } from '../dialect/surface.ts'
import { channelType } from '../../../contract/channel-types.ts'
import { AppError } from '../../app-error.ts'
import { holdsType } from '../../option/option-value.ts'
import type { UsedExtras } from '../../ledger/price/price-lines.ts'
import { withOwnCallIds } from '../canonical/call-id.ts'
import type { TokenUsage } from '../canonical/token-usage.ts'
import type { AnswerHead, StreamGatherer, UpstreamDialect } from '../dialect/dialect.ts'
import type { Metering } from '../dialect/metering.ts'
import { dialects } from '../conversion/dialects.ts'
import { embeddingConversion } from '../conversion/embedding.ts'
import { RequestNotes } from '../canonical/request-notes.ts'
import { cannotSay } from '../dialect/field-names.ts'
import { lackingEdits, withoutLacking, type Steering } from '../dialect/steering.ts'
import { finished, headOf, readyToSend, type Sent } from '../dialect/finish.ts'
import {
  PAID_BY_THE_PIECE,
  providerCallOf,
  WRITING_TASKS,
  type Provider,
  type ProviderCall,
  type ProviderChannel,
  type Task,
} from '../dialect/provider.ts'
import { providerOf } from '../vendors/registry.ts'
import { traitsOf } from '../vendors/registry.ts'
import type { UpstreamTraits } from '../dialect/traits.ts'
import { withReasoning } from '../providers/reasoning.ts'
import { outputLimitEdits } from '../conversion/output-limit.ts'
import { declaresSearch, searchExtras, withSearchAt } from '../conversion/search.ts'
import { outputLimitOf } from '../../model/output-limit.ts'
import type { Capabilities } from '../../model/capabilities.ts'
import { meteringFigures } from '../../model/model-table.ts'
import { estimatePromptTokens, approximateTokens } from '../count/estimate.ts'
import { dialectEdits, systemPromptEdit, takesSystemPrompt } from '../conversion/splice.ts'
import { convertedOutput, splicedOutput, type StreamOutput } from '../dialect/stream-output.ts'
import { answerBytesMax } from './answer-room.ts'
import { silenceLimits } from '../transport/upstream-call.ts'
import { serverSentEvents, type Wire } from '../transport/wire.ts'
import { scanBody, type ScannedBody, memberValue } from '../json/body-scan.ts'
import { splice, type MemberEdit } from '../json/body-splice.ts'
import { isRecord, parseJson, recordOr, type JsonRecord } from '../json/json-value.ts'
import type { Call, RelayParts } from './call.ts'
import { shown } from '../dialect/relay-error.ts'
import {
  callsToolsByResponses,
  chatWantsResponses,
  thoughtless,
  wantsResponses,
  withoutThoughts,
} from '../responses/with-tools.ts'
import { searchedByName } from '../surfaces/searched-chat.ts'
import type { UpstreamRequest } from '../transport/upstream-call.ts'

/**
 * One channel on its way to answer the call: what it is asked and how its answer becomes the
 * client's (`planAttempt`), what is held back for it (`reserve.ts`). Where client and upstream
 * speak one dialect, the client's bytes are spliced and the answer passes as it is; where they do
 * not, both are converted. Nothing is sent here.
 */
export interface Attempt {
  channel: RoutableChannel
  /** The name that is sent upstream. */
  modelName: string
  price: Price
  /** How the call is measured that has this price; absent: by its text alone. */
  metering?: Metering
  /** What the channel is asked for. */
  task: Task
  /** What of the client's request does not go out as the client sent it. */
  notes: RequestNotes
  request: UpstreamRequest
  /** What is held back, and counts where nobody says what was used; null: text is counted. */
  estimate: TokenUsage | null
  /** What may be used beside the text, as far as channel and name tell; held back with it. */
  extras: UsedExtras | undefined
  /** Whether the upstream can be told how long the answer may become. */
  limitsOutput: boolean
  /** How the answer is read. */
  upstream: AnswerReader
  /** How the events of a stream are laid out. */
  wire: Wire
  /**
   * How a stream that nobody asked for becomes one answer: from its canonical events, or, where the
   * client speaks the upstream's dialect, with all its members. Null: no such stream is known.
   */
  gathers: 'events' | (() => StreamGatherer) | null
  /** A whole answer for the client, null where it is none; null: it passes as it came. */
  convert: ((answer: WholeAnswer, used: TokenUsage) => JsonRecord | null) | null
  /** A stream for the client. */
  output(): StreamOutput
  /** The largest response that is read whole, in bytes. `isEvents`: it is a stream of events. */
  answerBytesMax(isEvents: boolean): number
  /** The channel's system prompt is put into the call. */
  resetsSystemPrompt: boolean
  /** How the prompt is counted where the upstream does not say. */
  prompt: Prompt
  /** Points held back for the call; 0 before `reserve.ts`. */
  reserved: number
  /**
   * The most tokens that each reply may have, because the balance does not cover more; null if it
   * covers all that client and model allow.
   */
  outputLimit: number | null
  /** The channel or its key was out of use, and this call finds out whether it is well again. */
  isTrial: boolean
}

/** What the upstream of an attempt is asked and how its answer is read. */
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
  /** Counts the prompt exactly; only asked when the upstream does not say. */
  count(): number | Promise<number>
  /** What the call is taken to use when nobody says; null: what is counted. */
  estimate: TokenUsage | null
  /** The answer is text that is written for the call, and nothing else is to be paid. */
  isText: boolean
}

/** What a second attempt at one channel changes, after what the first has shown (`second-form.ts`). */
export interface PlanChanges {
  /** A response is to be had by chat: the server has no such call. */
  isChat?: boolean
  /** A chat is to be had by the Responses API: the server, or the model, has no other. */
  isResponse?: boolean
  /** Thoughts of earlier turns stay behind: another account has sealed them. */
  isForgetful?: boolean
  /** See `ProviderCall`. */
  isReasoningMissing?: boolean
}

/**
 * Prices the call on this channel and plans how it is asked. Returns the refusal if it cannot be:
 * the model has no price there, or the channel no such call.
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
  const byPictureToken = price.imageCompletionRatio !== null && price.perCall === null
  const sold = { traits: traitsOf(channel.type), byPictureToken }
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
    // An answer that repeats its prompt holds text that nobody has written.
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

/** To which channel a call goes, under which name, and at which price, if it has one. */
type Sending = Pick<Attempt, 'channel' | 'modelName'> &
  Partial<Pick<Attempt, 'price' | 'metering' | 'outputLimit'>>

/** The request for a channel, or why this channel cannot answer such a call. */
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
    // What cannot be read or said is the client's to hear; anything else is a fault of ours.
    if (error instanceof AppError) return error
    throw error
  }
}

const NO_CHANGES: PlanChanges = {}

/** The body as the provider wants it, and then as the model does. */
function bodyFor(provider: Provider, sent: Sent, bytes: Buffer): Buffer {
  const body = finished(provider, sent, bytes)
  const mayLackReasoning = provider.dialect === 'openai' || sent.to.isReasoningMissing === true
  return mayLackReasoning ? withReasoning(provider, sent, body) : body
}

/** Whether nothing may be left out of the call: by the operator's option, or the client's header. */
const isStrict = ({ app }: RelayParts, { request }: Call): boolean =>
  app.options.flag('StrictParameters') || request.headers['x-gatehouse-strict'] === '1'

/**
 * Whether nothing comes before the whole answer is made: of pictures and recordings that take
 * several requests also where a stream is asked for, which is made of it.
 */
function comesWhole(
  { via }: Provider,
  { channel, to }: { channel: ProviderChannel; to: ProviderCall },
): boolean {
  if (!to.isStream) return to.task !== 'countTokens'
  return PAID_BY_THE_PIECE.has(to.task) && (via?.(channel, to) ?? null) !== null
}

/** The call as the provider takes it: JSON where it knows no forms. */
function withoutForm(input: CallInput, { ofForm }: Provider): CallInput {
  if (input.form === null || ofForm === undefined) return input
  return { ...input, form: null, body: scannedAgain(ofForm(input.form)) }
}

/**
 * The client's body with the limit of its reply lowered, still in the client's dialect: to what the
 * caller's balance covers, and to what the model can answer, which upstreams refuse to exceed. A
 * header says so.
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

/** Of every answer; null: none, whatever an earlier attempt has said. */
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

/** The refusal for a channel that has no address for such a call. */
function nowhere(
  { language }: Call,
  channel: RoutableChannel,
  /** Every provider talks: where it cannot, the channel does not say where or as whom. */
  isIncomplete: boolean,
): AppError {
  const { label, retired } = channelType(channel.type)
  const type = label[language]
  if (retired) return new AppError('channel_retired', { type })
  return new AppError(isIncomplete ? 'channel_incomplete' : 'channel_protocol_unsupported', {
    type,
  })
}

/** Whether client and upstream speak one dialect, about one task. */
const speaksAsAsked = (
  { dialect }: Provider,
  { task }: ProviderCall,
  { input: { surface } }: Call,
): boolean => dialect === surface.dialect && task === surface.task && surface.spokenIn === undefined

/** Texts of OpenAI's dialect, whose upstreams may search the web. */
const MAY_SEARCH: ReadonlySet<Task> = new Set(['chat', 'completions'])

/** Some models search the web by OpenAI's chat, whichever dialect the client speaks: measured so. */
function searchOf(
  { price, modelName }: Sending,
  { task }: ProviderCall,
  dialect: UpstreamDialect,
): Metering | undefined {
  if (price === undefined || dialect.name !== 'openai' || !MAY_SEARCH.has(task)) return undefined
  return searchedByName(price.pricedAs, modelName)
}

/** A spliced body may name stored items, which the upstream reads in: not those of other users. */
function refuseForeignItems({ referred }: Route, type: number): void {
  const id =
    referred?.foreign ??
    (traitsOf(type).servesOpenai === true ? referred?.foreignBare : null) ??
    null
  if (id !== null) throw new AppError('response_item_unknown', { id: shown(id) })
}

/** Whether the client sees what a stream has used. */
const isUsageShown = ({ app }: RelayParts, { figures }: Call): boolean =>
  figures.wantsUsage || app.config.ENFORCE_INCLUDE_USAGE

const CHATS: ReadonlySet<Task> = new Set(['chat', 'responses'])

interface TaskChoice {
  provider: Provider
  sending: Sending
  capabilities: Capabilities
  changes: PlanChanges
}

/** What the channel is asked for, whatever the client's own words: some must answer by responses. */
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
  // No other upstream has the Responses API.
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

/** OpenAI's models search by the Responses API, but for those that search by chat only. */
const searchesByResponses = (traits: UpstreamTraits, model: string, body: ScannedBody): boolean =>
  traits.servesOpenai === true &&
  meteringFigures(model).search_tool === undefined &&
  declaresSearch(body)

interface UpstreamPlace {
  to: ProviderCall
  url: string
}

/**
 * The address, and for what it is asked: a provider without the Responses API is asked for chat.
 * Null: it has no address for either.
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

/** Recordings and subtitles are not JSON. */
function acceptOf({ isStream, metering }: RequestFigures, wire: Wire): string {
  if (isStream) return wire.accept
  return metering === undefined ? 'application/json' : '*/*'
}

/** The client's body with the channel's system prompt in it, still in the client's dialect. */
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
  /** Members that the provider lacks, taken out. */
  edits: readonly MemberEdit[]
}

/** Client and upstream speak one dialect: bytes pass. */
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
 * Client and upstream speak different dialects: the request is written in the upstream's, the
 * answer in the client's.
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
    // Pictures in the answer are for the asking nowhere else.
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
