import {
  finished,
  type Sent,
  WRITING_TASKS,
  type Provider,
  type ProviderCall,
  type Task,
} from '../protocols/dialect/provider.ts'
import { withReasoning } from '../vendors/shared/reasoning.ts'
import {
  cutAtStopTexts,
  toolsAsAsked,
  chained,
  NO_CHANGES as NO_ANSWER_CHANGES,
  type AnswerChanges,
} from '../protocols/dialect/answer-changes.ts'
import { answerOf } from '../protocols/canonical/gathered-answer.ts'
import type { Route } from './route.ts'
import type { CallInput } from './read-request.ts'
import { channelType } from '../../../contract/channel-types.ts'
import { AppError } from '../../app-error.ts'
import type { UsedExtras } from '../../ledger/price/price-lines.ts'
import { withOwnCallIds } from '../protocols/canonical/tool-calls.ts'
import type { TokenUsage } from '../protocols/canonical/token-usage.ts'
import type { AnswerHead, UpstreamDialect } from '../protocols/dialect/dialect.ts'
import { dialects } from '../conversion/dialects.ts'
import { embeddingConversion } from '../conversion/embedding.ts'
import type { RequestNotes } from '../protocols/canonical/request-notes.ts'
import { cannotSay } from '../protocols/dialect/field-names.ts'
import { withoutLacking, type Steering } from '../protocols/dialect/steering.ts'
import { traitsOf } from '../vendors/registry.ts'
import { outputLimitEdits } from '../conversion/output-limit.ts'
import { searchExtras, withSearchAt } from '../conversion/search.ts'
import { outputLimitOf } from '../../model/model-table.ts'
import type { Capabilities } from '../../model/capabilities.ts'
import { estimatePromptTokens } from '../count/estimate.ts'
import { dialectEdits, systemPromptEdit } from '../conversion/splice.ts'
import {
  convertedOutput,
  splicedOutput,
  type StreamOutput,
} from '../protocols/dialect/stream-output.ts'
import { scanBody, type ScannedBody } from '../json/body-scan.ts'
import { splice, type MemberEdit } from '../json/body-splice.ts'
import { isRecord, parseJson, recordOr, type JsonRecord } from '../json/json-value.ts'
import type { Call, RelayParts } from './call.ts'
import { shown } from '../protocols/dialect/relay-error.ts'
import {
  callsToolsByResponses,
  withReasoningOff,
  withoutReasoning,
} from '../protocols/openai-responses/with-tools.ts'
import type { ChosenChannel, PlanChanges, PlannedRequest } from './plan.ts'

/**
 * The bodies of one attempt: what is sent to the upstream, and how its response becomes the
 * client's. If both use one dialect, the client's bytes are spliced; otherwise request and response
 * are converted.
 */

export const CHATS: ReadonlySet<Task> = new Set(['chat', 'responses'])

/** Returns the call as the provider accepts it: as JSON if the provider has no form uploads. */
export function withoutForm(input: CallInput, { ofForm }: Provider): CallInput {
  if (input.form === null || ofForm === undefined) return input
  return { ...input, form: null, body: scannedAgain(ofForm(input.form)) }
}

/**
 * Lowers the output limit in the client's body, still in the client's dialect: to the tokens that
 * the caller's balance covers, and to the model's maximum, which upstreams refuse to exceed. A
 * response header reports the lowered limit.
 */
export function withOutputLimit(
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

/** Adds the channel's system prompt to the client's body, in the client's dialect. */
export function withSystemPrompt({ surface, body }: CallInput, systemPrompt: string): ScannedBody {
  if (systemPrompt === '') return body
  const edits = systemPromptEdit(surface, body, systemPrompt)
  return edits.length === 0 ? body : scannedAgain(splice(body, edits))
}

function scannedAgain(bytes: Buffer): ScannedBody {
  const body = scanBody(bytes)
  if (!body.ok) throw new Error(`a written body is broken: ${body.reason}`)
  return body
}

/** Returns the body as the provider requires it, then adapted to the model. */
export function bodyFor(provider: Provider, sent: Sent, bytes: Buffer): Buffer {
  const body = finished(provider, sent, bytes)
  const mayLackReasoning = provider.dialect === 'openai' || sent.to.isReasoningMissing === true
  return mayLackReasoning ? withReasoning(provider, sent, body) : body
}

/** The body for the upstream, and how its response becomes the client's. */
interface Exchange {
  sent: Buffer
  convert: PlannedRequest['convert']
  gathers: PlannedRequest['gathers']
  output: PlannedRequest['output']
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
export function splicing(
  call: Call,
  { surface, framing, body, form, model }: CallInput,
  { channel, modelName, metering }: ChosenChannel,
  { capabilities, asksForUsage, refusesUsage, showsUsage, edits: lacking }: ToSplice,
): Exchange {
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

/** Rejects a spliced body that names another user's stored items, which the upstream would read. */
function refuseForeignItems({ referred }: Route, type: number): void {
  const id =
    referred?.foreign ??
    (traitsOf(type).servesOpenai === true ? referred?.foreignBare : null) ??
    null
  if (id !== null) throw new AppError('response_item_unknown', { id: shown(id) })
}

interface ToConvert {
  chosen: ChosenChannel
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
export function converting(
  parts: RelayParts,
  call: Call,
  { surface, framing, body, model: requestedModel }: CallInput,
  { chosen, dialect: upstream, to, asksForUsage, notes, lacks, changes: form }: ToConvert,
): Exchange {
  const { app } = parts
  const { modelName } = chosen
  const { isStream } = call.figures
  const { type } = chosen.channel
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
    const needsReasoningOff = dialect === 'openai' && callsToolsByResponses({ ...to, type, traits })
    const said = form.dropsReasoning === true ? withoutReasoning(read) : read
    const searchTarget = { dialect, traits, type, model: modelName, capabilities }
    const asked = {
      ...(needsReasoningOff ? withReasoningOff(said) : said),
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
    const label = channelType(chosen.channel.type).label
    throw new AppError('channel_protocol_unsupported', { type: label })
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

/** Whether the client receives the usage of a stream. */
export const isUsageShown = ({ app }: RelayParts, { figures }: Call): boolean =>
  figures.wantsUsage || app.config.ENFORCE_INCLUDE_USAGE

const bytesOf = (value: JsonRecord): Buffer => Buffer.from(JSON.stringify(value))
