import type { RequestFigures, Surface, SurfaceCall } from '../dialect/surface.ts'
import { channelType } from '../../../contract/channel-types.ts'
import { AppError } from '../../app-error.ts'
import { holdsType } from '../../option/option-value.ts'
import type { UsedExtras } from '../../ledger/price/price-lines.ts'
import { agentClient } from '../surfaces/agent-chat.ts'
import { withOwnCallIds } from '../canonical/call-id.ts'
import type { UpstreamName } from '../canonical/chat-request.ts'
import type { TokenUsage } from '../canonical/token-usage.ts'
import type {
  AnswerHead,
  ClientDialect,
  StreamGatherer,
  UpstreamDialect,
} from '../dialect/dialect.ts'
import type { Metering, Reading } from '../dialect/metering.ts'
import type { Form } from '../transport/form.ts'
import { dialects, gathererOf, upstreamDialects } from '../conversion/dialects.ts'
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
import { providerOf } from '../providers/providers.ts'
import { traitsOf } from '../vendors/registry.ts'
import type { UpstreamTraits } from '../dialect/traits.ts'
import { withReasoning } from '../providers/reasoning.ts'
import { outputLimitEdits } from '../conversion/output-limit.ts'
import { declaresSearch, searchExtras, withSearchAt } from '../conversion/search.ts'
import { outputLimitOf } from '../../model/output-limit.ts'
import type { Capabilities } from '../../model/capabilities.ts'
import { estimatePromptTokens } from '../count/estimate.ts'
import { dialectEdits, systemPromptEdit } from '../conversion/splice.ts'
import { convertedOutput, splicedOutput, type StreamOutput } from '../dialect/stream-output.ts'
import { withStopTexts } from '../dialect/stop-texts.ts'
import { withToolsAsAsked } from '../dialect/tool-calls.ts'
import { answerBytesMax } from './answer-room.ts'
import { silenceLimits } from '../transport/silence-limits.ts'
import { serverSentEvents, type Wire } from '../transport/wire.ts'
import { scanBody, type ScannedBody } from '../json/body-scan.ts'
import { splice, type MemberEdit } from '../json/body-splice.ts'
import { parseJson, recordOr, type JsonRecord } from '../json/json-value.ts'
import { clientWithFunctions } from '../openai/older/function-calls.ts'
import type { Charge, RelayCall, RelayParts } from './call.ts'
import { shown } from '../dialect/relay-error.ts'
import { responsesClient } from '../responses/client.ts'
import type { ReferredItems } from '../responses/referred-items.ts'
import {
  callsToolsByResponses,
  chatWantsResponses,
  thoughtless,
  wantsResponses,
  withoutThoughts,
} from '../responses/with-tools.ts'
import { searchedByName, SEARCHING } from '../search/searched-chat.ts'
import type { UpstreamRequest } from '../transport/upstream-call.ts'

/**
 * How one attempt is made: what goes to the channel, and how its answer becomes the client's. Where
 * both speak one dialect, the client's bytes are spliced and the answer passes as it is; where they
 * do not, both are converted. Nothing is sent here.
 */
export interface AttemptPlan {
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
  upstream: Reading
  /** How the events of a stream are laid out. */
  wire: Wire
  /** Makes one answer of a stream that nobody asked for; null: of such there is none. */
  gatherer: (() => StreamGatherer) | null
  /** A whole answer for the client, null where it is none; null: it passes as it came. */
  convert: ((answer: JsonRecord, used: TokenUsage) => JsonRecord | null) | null
  /** A stream for the client. */
  output(): StreamOutput
  /** The largest response that is read whole, in bytes. `isEvents`: it is a stream of events. */
  answerBytesMax(isEvents: boolean): number
}

/** What is known of a call before a channel is chosen. */
export interface PlannedCall {
  asked: SurfaceCall
  body: ScannedBody
  /** As the client named it. */
  model: string
  figures: RequestFigures
  /** The form that the body's members were read from; null: it is the body. */
  form: Form | null
  /** A response is to be had by chat: the server has no such call. */
  isChat?: boolean
  /** A chat is to be had by the Responses API: the server, or the model, has no other. */
  isResponse?: boolean
  /** Items that a request of the Responses API names instead of saying them; null: another API. */
  referred: ReferredItems | null
  /** Thoughts of earlier turns stay behind: another account has sealed them. */
  isForgetful?: boolean
  /** The most tokens that each reply may have, in place of what the client says. */
  outputLimit?: number
  /** See `ProviderCall`. */
  isReasoningMissing?: boolean
}

/** To which channel a call goes, under which name, and at which price, if it has one. */
export type Sending = Pick<Charge, 'channel' | 'modelName' | 'requestedModel' | 'metering'> &
  Partial<Pick<Charge, 'price'>>

/** The plan for a channel, or why this channel cannot answer such a call. */
export function planAttempt(
  parts: RelayParts,
  call: RelayCall,
  asking: PlannedCall,
  charge: Sending,
): AttemptPlan | AppError {
  const { channel, modelName } = charge
  const { surface } = asking.asked
  const { type } = channel
  const capabilities = parts.app.models.table().capabilitiesOf(modelName, type)
  const provider = providerOf(type, modelName, surface.task, capabilities)
  const { isStream } = asking.figures
  const task = taskOf(parts, asking, { ...charge, capabilities })
  const dropsHostedTools = holdsType(parts.app.options.text('DropHostedTools'), channel.type)
  const notes = new RequestNotes(isStrict(parts, call), dropsHostedTools)
  const wanted = {
    ...providerCallOf(parts.app, { task, model: modelName, isStream, type }, call),
    isReasoningMissing: asking.isReasoningMissing ?? false,
    notes,
  }
  const place = placeOf(provider, channel, wanted)
  if (provider === null || place === null) return nowhere(call, provider, { channel, surface })
  try {
    const { to } = place
    const sent = { channel, to }
    const planned = withOutputLimit(call, withoutForm(asking, provider), to)
    surface.refuse?.(planned.body, modelName)
    const body = withSystemPrompt(planned, channel.systemPrompt)
    const isSpliced = speaksAsAsked(provider, to, surface)
    const dialect = !isSpliced && to.task === 'responses' ? 'responses' : provider.dialect
    const metering = isSpliced ? charge.metering : searchOf(charge, to, dialect)
    const wire = provider.wire ?? serverSentEvents
    const isMeteredStream = isStream && (metering === undefined || MAY_SEARCH.has(to.task))
    const asksForUsage = isMeteredStream && provider.asksForUsage(channel, to)
    const refusesUsage = isMeteredStream && !asksForUsage
    const answering = isSpliced
      ? splicing(planned, body, charge, {
          capabilities,
          asksForUsage,
          refusesUsage,
          showsUsage: isUsageShown(parts, planned),
          edits: to.task === 'chat' ? lackingEdits(body, provider.lacks ?? [], notes) : [],
        })
      : converting(parts, call, planned, {
          body,
          charge,
          dialect,
          to,
          asksForUsage,
          notes,
          lacks: provider.lacks ?? [],
        })
    const request: UpstreamRequest = {
      url: place.url,
      method: 'POST',
      headers: headOf(provider, sent, {
        contentType: planned.form?.contentType ?? 'application/json',
        accept: acceptOf(planned.figures, wire),
        body: answering.sent,
      }),
      body: planned.form === null ? bodyFor(provider, sent, answering.sent) : answering.sent,
      ...silenceLimits(parts.app.config, { isWhole: comesWhole(provider, sent) }),
    }
    return {
      task: to.task,
      notes,
      request: readyToSend(provider, sent, request, parts.app.clock),
      estimate: charge.metering?.estimate ?? answering.estimate ?? null,
      extras: metering?.extras ?? answering.extras ?? charge.metering?.extras,
      limitsOutput: isSpliced || upstreamDialects[dialect].limitsOutput !== false,
      upstream:
        metering?.reading ?? provider.reading ?? readingOf(upstreamDialects[dialect], isSpliced),
      wire,
      gatherer: gathererOf(to.task, dialect),
      convert: answering.convert,
      output: answering.output,
      answerBytesMax: (isEvents) => answerBytesMax({ ...to, body: planned.body.bytes }, isEvents),
    }
  } catch (error) {
    // What cannot be read or said is the client's to hear; anything else is a fault of ours.
    if (error instanceof AppError) return error
    throw error
  }
}

/** The body as the provider wants it, and then as the model does. */
const bodyFor = (provider: Provider, sent: Sent, bytes: Buffer): Buffer =>
  withReasoning(provider, sent, finished(provider, sent, bytes))

/** Whether nothing may be left out of the call: by the operator's option, or the client's header. */
const isStrict = ({ app }: RelayParts, { request }: RelayCall): boolean =>
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
function withoutForm(planned: PlannedCall, { ofForm }: Provider): PlannedCall {
  if (planned.form === null || ofForm === undefined) return planned
  return { ...planned, form: null, body: scannedAgain(ofForm(planned.form)) }
}

/**
 * The client's body with the limit of its reply lowered, still in the client's dialect: to what the
 * caller's balance covers, and to what the model can answer, which upstreams refuse to exceed. A
 * header says so.
 */
function withOutputLimit(
  call: RelayCall,
  planned: PlannedCall,
  to: Pick<ProviderCall, 'model' | 'capabilities'>,
): PlannedCall {
  const { outputLimit = Infinity, body, asked, figures } = planned
  const { maxCompletionTokens, replies = 1 } = figures
  const isSaid = maxCompletionTokens !== null && WRITING_TASKS.has(asked.surface.task)
  const known = isSaid ? outputLimitOf(to) : null
  const isAbove = isSaid && known !== null && maxCompletionTokens / replies > known
  const limit = Math.min(outputLimit, isAbove ? known : Infinity)
  setHeader(call, 'X-Gatehouse-Output-Limit', limit === Infinity ? null : String(limit))
  if (limit === Infinity) return planned
  const edits = outputLimitEdits(asked.surface, body, { ...to, limit })
  return { ...planned, body: scannedAgain(splice(body, edits)) }
}

/** Of every answer; null: none, whatever an earlier attempt has said. */
function setHeader({ headers }: RelayCall, name: string, value: string | null): void {
  const at = headers.indexOf(name)
  if (at >= 0) headers.splice(at, 2)
  if (value !== null) headers.push(name, value)
}

function scannedAgain(bytes: Buffer): ScannedBody {
  const body = scanBody(bytes)
  if (!body.ok) throw new Error(`a written body is broken: ${body.reason}`)
  return body
}

const readingOf = (upstream: UpstreamDialect, isSpliced: boolean): Reading =>
  isSpliced ? upstream : { ...upstream, ...upstream.converted }

/** The refusal for a channel that has no address for such a call. */
function nowhere(
  { language }: RelayCall,
  provider: Provider | null,
  { channel, surface }: { channel: ProviderChannel; surface: Surface },
): AppError {
  const { label, retired } = channelType(channel.type)
  const type = label[language]
  if (retired) return new AppError('channel_retired', { type })
  // Every provider talks: where it cannot, the channel does not say where or as whom.
  const isIncomplete = provider !== null && CHATS.has(surface.task)
  return new AppError(isIncomplete ? 'channel_incomplete' : 'channel_protocol_unsupported', {
    type,
  })
}

/** Whether client and upstream speak one dialect, about one task. */
const speaksAsAsked = ({ dialect }: Provider, { task }: ProviderCall, surface: Surface): boolean =>
  dialect === surface.dialect && task === surface.task && surface.spokenIn === undefined

/** Texts of OpenAI's dialect, whose upstreams may search the web. */
const MAY_SEARCH: ReadonlySet<Task> = new Set(['chat', 'completions'])

/** Some models search the web by OpenAI's chat, whichever dialect the client speaks: measured so. */
function searchOf(
  { price, modelName }: Sending,
  { task }: ProviderCall,
  dialect: UpstreamName,
): Metering | undefined {
  if (price === undefined || dialect !== 'openai' || !MAY_SEARCH.has(task)) return undefined
  return searchedByName(price.pricedAs, modelName)
}

/** A spliced body may name stored items, which the upstream reads in: not those of other users. */
function refuseForeignItems({ referred }: PlannedCall, type: number): void {
  const id =
    referred?.foreign ??
    (traitsOf(type).servesOpenai === true ? referred?.foreignBare : null) ??
    null
  if (id !== null) throw new AppError('response_item_unknown', { id: shown(id) })
}

/** Whether the client sees what a stream has used. */
const isUsageShown = ({ app }: RelayParts, { figures }: PlannedCall): boolean =>
  figures.wantsUsage || app.config.ENFORCE_INCLUDE_USAGE

const CHATS: ReadonlySet<Task> = new Set(['chat', 'responses'])

/** What the channel is asked for, whatever the client's own words: some must answer by responses. */
function taskOf(
  { chatOnly, responsesOnly }: RelayParts,
  { asked, body, model, isChat, isResponse }: PlannedCall,
  { channel, modelName, capabilities }: Sending & { capabilities: Capabilities },
): Task {
  const { task, dialect, spokenIn } = asked.surface
  if (task !== 'responses') {
    if (task !== 'chat') return task
    const isOther = dialect !== 'openai' || spokenIn !== undefined
    const wants = isOther ? wantsResponses : chatWantsResponses
    const isForced = isResponse === true || responsesOnly.has(channel, model)
    const traits = traitsOf(channel.type)
    const isSearch = isOther && searchesByResponses(traits, modelName, body)
    const at = { type: channel.type, model: modelName, capabilities, traits }
    if (!isForced && !isSearch && !wants(at, body)) return task
  }
  return isChat === true || chatOnly.has(channel, model) ? 'chat' : 'responses'
}

/** OpenAI's models search by the Responses API, but for those that search by chat only. */
const searchesByResponses = (traits: UpstreamTraits, model: string, body: ScannedBody): boolean =>
  traits.servesOpenai === true && !SEARCHING.test(model) && declaresSearch(body)

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
function withSystemPrompt({ asked, body }: PlannedCall, systemPrompt: string): ScannedBody {
  const edits = systemPromptEdit(asked.surface, body, systemPrompt)
  if (edits.length === 0) return body
  return scannedAgain(splice(body, edits))
}

type Answering = Pick<AttemptPlan, 'convert' | 'output'> & {
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
  planned: PlannedCall,
  body: ScannedBody,
  { channel, modelName, metering }: Sending,
  { capabilities, asksForUsage, refusesUsage, showsUsage, edits: lacking }: ToSplice,
): Answering {
  refuseForeignItems(planned, channel.type)
  const { asked, figures, model, form } = planned
  const { surface, framing } = asked
  const { wantsUsage } = figures
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
    output: () => splicedOutput(client, { framing, wantsUsage: showsUsage }),
  }
}

interface ToConvert {
  body: ScannedBody
  charge: Sending
  dialect: UpstreamName
  to: ProviderCall
  asksForUsage: boolean
  notes: RequestNotes
  lacks: readonly Steering[]
}

/**
 * Client and upstream speak different dialects: the request is written in the upstream's, the
 * answer in the client's.
 */
function converting(
  parts: RelayParts,
  call: RelayCall,
  planned: PlannedCall,
  { body, charge, dialect, to, asksForUsage, notes, lacks }: ToConvert,
): Answering {
  const { app } = parts
  const { asked, figures } = planned
  const { surface, framing } = asked
  const { modelName, requestedModel } = charge
  const { isStream } = figures
  const { type } = charge.channel
  const traits = traitsOf(type)
  const upstream = upstreamDialects[dialect]
  const value = recordOr(parseJson(body.bytes.toString('utf8')))
  const isResponse = surface.task === 'responses'
  const client = clientOf(surface, value)
  const head: AnswerHead = {
    id: `${isResponse ? 'resp_' : 'chatcmpl-'}${call.requestId}`,
    model: requestedModel,
    nowSeconds: app.clock.nowSeconds(),
  }
  const output = (answering: UpstreamDialect): StreamOutput => {
    const wantsUsage = isUsageShown(parts, planned)
    const promptTokens =
      client.name === 'anthropic' ? estimatePromptTokens(planned.body, modelName) : 0
    return convertedOutput(client, answering, {
      framing,
      head: { ...head, wantsUsage, promptTokens },
    })
  }
  if (CHATS.has(surface.task)) {
    const read = withoutLacking(client.readRequest(value, notes), lacks)
    const { capabilities } = to
    const isThoughtless = dialect === 'openai' && callsToolsByResponses({ ...to, type, traits })
    const said = planned.isForgetful === true ? withoutThoughts(read) : read
    const searchTarget = { dialect, traits, type, model: modelName, capabilities }
    const request = withSearchAt(
      {
        ...(isThoughtless ? thoughtless(said) : said),
        messages: withOwnCallIds(said.messages),
      },
      searchTarget,
    )
    // Pictures in the answer are for the asking nowhere else.
    if (request.modalities !== undefined && dialect !== 'gemini') {
      throw cannotSay(request, 'modalities')
    }
    const safety = app.config.GEMINI_SAFETY_SETTING
    const target = { model: modelName, isStream, asksForUsage, safety, type, traits, capabilities }
    const sent = bytesOf(upstream.writeRequest(request, target))
    const cut = withStopTexts(upstream, notes.stops, request.choices)
    const answering = withToolsAsAsked(cut, read, call.requestId)
    return {
      sent,
      estimate: upstream.estimate?.(request),
      extras: searchExtras(request, searchTarget),
      convert: (answer, usage) =>
        client.writeAnswer({ ...answering.readAnswer(answer), usage }, head),
      output: () => output(answering),
    }
  }
  const embedding = embeddingConversion(surface.task, dialect, value, traits)
  if (embedding === null) {
    const label = channelType(charge.channel.type).label
    throw new AppError('channel_protocol_unsupported', { type: label[call.language] })
  }
  return {
    sent: bytesOf(embedding.request(modelName)),
    convert: (answer, usage) => embedding.answer(answer, usage, requestedModel),
    output: () => output(upstream),
  }
}

/** Who reads the request and is told the answer. */
function clientOf({ task, dialect, spokenIn }: Surface, value: JsonRecord): ClientDialect {
  if (task === 'responses') return responsesClient(value)
  if (spokenIn !== undefined) return agentClient(value)
  return clientWithFunctions(dialects[dialect], value)
}

const bytesOf = (value: JsonRecord): Buffer => Buffer.from(JSON.stringify(value))
