import { channelType, upstreamUrl } from '../../contract/channel-types.ts'
import { AppError } from '../app-error.ts'
import { findPrice, reservationOf } from '../ledger/price.ts'
import { allowsModel } from '../token/token.ts'
import type { AttemptOutcome } from './attempt.ts'
import { memberValue, scanBody, type ScannedBody } from './json/body-scan.ts'
import { splice, type MemberEdit } from './json/body-splice.ts'
import { refusePin, type Caller } from './routing/caller.ts'
import { chooseChannel, type RoutableChannel, type Tiers } from './routing/choose-channel.ts'
import { approximateTokens, estimatePromptTokens } from './count/estimate.ts'
import { sendError, type Charge, type RelayCall, type RelayParts } from './relay-call.ts'
import { ownError, type RelayError } from './relay-error.ts'
import { readBody } from './transport/request-body.ts'
import { relayStream } from './stream-answer.ts'
import { readFigures, type RequestFigures, type TextSurface } from './openai/surfaces.ts'
import { withSystemPrompt } from './openai/system-prompt.ts'
import type { UpstreamRequest } from './transport/upstream-call.ts'
import { relayWhole, type Prompt } from './whole-answer.ts'

/**
 * A metered call that carries text: authenticate → read → refuse or not → route → price → reserve →
 * for each attempt: choose a channel, send → answer and settle, or release.
 */
export async function relayText(
  parts: RelayParts,
  call: RelayCall,
  surface: TextSurface,
): Promise<void> {
  const { app } = parts
  const address = (): string => app.addressOf(call.request)
  const caller = await parts.callers.authenticate(call.request.headers.authorization, address)
  const body = await readRequest(parts, call)
  const model = requestedModel(body, surface)
  if (model !== '' && !allowsModel(caller.token, model)) {
    throw new AppError('token_model_not_allowed', { model: shown(model) })
  }
  refusePin(caller)
  const route = await routeOf(parts, caller, model)
  // Only a pinned channel lets a call without a model come this far.
  if (model === '') throw new AppError('relay_field_required', { field: 'model' })
  const figures = readFigures(body, surface)
  if ('field' in figures) {
    const code = figures.isMissing ? 'relay_field_required' : 'relay_field_invalid'
    throw new AppError(code, { field: figures.field })
  }
  await runAttempts(parts, call, { caller, surface, body, model, route, figures })
}

interface TextCall {
  caller: Caller
  surface: TextSurface
  body: ScannedBody
  /** As the client named it. */
  model: string
  route: Route
  figures: RequestFigures
}

interface Route {
  group: string
  tiers: Tiers
  /** An admin has named the channel: no other is asked. */
  isPinned: boolean
}

async function readRequest({ app }: RelayParts, call: RelayCall): Promise<ScannedBody> {
  const bytes = await readBody(call.request, app.config.MAX_BODY_MB * 1024 * 1024)
  const scanned = scanBody(bytes)
  if (scanned.ok) return scanned
  const detail = scanned.key === '' ? scanned.reason : `${scanned.reason} “${shown(scanned.key)}”`
  throw new AppError('relay_body_invalid', { detail, offset: scanned.offset })
}

/** Characters of a client's own text that are repeated in a sentence. */
const SHOWN_MAX = 128
const shown = (text: string): string => text.slice(0, SHOWN_MAX)

/**
 * The model as the client named it; a call without one goes on with an empty name and finds no
 * channel.
 */
function requestedModel(body: ScannedBody, surface: TextSurface): string {
  const value = memberValue(body, 'model') ?? surface.defaultModel ?? ''
  if (typeof value !== 'string') throw new AppError('relay_field_invalid', { field: 'model' })
  return value
}

/** Where the call may go: the pinned channel, or the first of the caller's groups that has one. */
async function routeOf({ channels }: RelayParts, caller: Caller, model: string): Promise<Route> {
  const current = channels.current()
  // A promise only after a change: the usual call goes on without a turn of the event loop.
  const map = current instanceof Promise ? await current : current
  if (caller.pinnedChannel !== null) {
    const channel = /^\d{1,15}$/.test(caller.pinnedChannel)
      ? map.find(Number(caller.pinnedChannel))
      : undefined
    if (channel === undefined) throw new AppError('channel_pin_unknown')
    if (!channel.isEnabled) throw new AppError('channel_pin_disabled')
    return { group: caller.groups[0] ?? '', tiers: [[channel]], isPinned: true }
  }
  for (const group of caller.groups) {
    const tiers = map.tiers(group, model)
    if (tiers.length > 0) return { group, tiers, isPinned: false }
  }
  throw new AppError('no_channel', { group: caller.groups.join(', '), model: shown(model) })
}

/** Tries channels until one answers; the quota is reserved once, whatever the number of attempts. */
async function runAttempts(parts: RelayParts, call: RelayCall, text: TextCall): Promise<void> {
  const { app } = parts
  const attemptsMax = text.route.isPinned ? 1 : 1 + app.options.number('RetryTimes')
  const tried = new Set<number>()
  let reserved: number | null = null
  let last: RelayError | null = null
  try {
    while (tried.size < attemptsMax && !call.isGone) {
      const channel = chooseChannel(text.route.tiers, tried, parts.random)
      if (channel === null) break
      tried.add(channel.id)
      const charge = chargeOf(parts, text, channel)
      if (charge === null) {
        // Another channel may send it under a name that has a price.
        const params = { model: shown(text.model) }
        last ??= ownError(new AppError('model_unpriced', params), call.language)
        continue
      }
      reserved ??= await reserve(parts, call, text, charge)
      if (call.isGone) break
      const outcome = await attempt(parts, call, text, { charge, reserved })
      if (outcome.kind !== 'failed') {
        reserved = null
        return
      }
      noteFailure(parts, call, channel, outcome)
      last = outcome.error
      if (!outcome.mayRetry) break
    }
  } finally {
    // Whatever went wrong before an answer: the reservation goes back. Closed calls are left alone.
    if (reserved !== null) await app.ledger.release(call.requestId)
  }
  if (last !== null && !call.isGone) sendError(call, last)
}

function noteFailure(
  parts: RelayParts,
  call: RelayCall,
  channel: RoutableChannel,
  outcome: Extract<AttemptOutcome, { kind: 'failed' }>,
): void {
  if (outcome.cause === 'ended') return
  parts.app.trace.warn(
    {
      requestId: call.requestId,
      channelId: channel.id,
      cause: outcome.cause,
      status: outcome.error.status,
      code: outcome.error.code,
    },
    'a channel failed',
  )
  parts.metrics.relayed({
    outcome: outcome.cause,
    channelId: channel.id,
    elapsedMs: parts.app.clock.monotonicMs() - call.startedMs,
    quota: 0,
  })
}

/** Null when the model has no price on this channel. */
function chargeOf(parts: RelayParts, text: TextCall, channel: RoutableChannel): Charge | null {
  const modelName = channel.modelMapping.get(text.model) ?? text.model
  const price = findPrice(parts.app.options.ratios(), {
    requested: text.model,
    mapped: modelName,
    channelType: channel.type,
    group: text.route.group,
  })
  if (price === null) return null
  return {
    caller: text.caller,
    channel,
    price,
    requestedModel: text.model,
    modelName,
    isStream: text.figures.isStream,
  }
}

/** Holds the estimate back; answers how many points. Throws the refusal that the client is to see. */
async function reserve(
  parts: RelayParts,
  call: RelayCall,
  text: TextCall,
  charge: Charge,
): Promise<number> {
  const { app, callers } = parts
  const amount = reservationOf(charge.price, {
    promptTokens: estimatePromptTokens(text.body, charge.modelName),
    maxCompletionTokens: text.figures.maxCompletionTokens,
    preConsumedTokens: app.options.number('PreConsumedQuota'),
  })
  const operation = {
    requestId: call.requestId,
    userId: text.caller.user.id,
    tokenId: text.caller.token.id,
    amount,
    nowSeconds: app.clock.nowSeconds(),
    node: app.node,
  }
  const refusal = await app.ledger.reserve(operation).catch((error: unknown) => {
    app.trace.error({ err: error, requestId: call.requestId }, 'nothing could be reserved')
    throw new AppError('busy')
  })
  switch (refusal) {
    case null:
      return amount
    case 'user_quota':
      throw new AppError('user_quota_insufficient')
    case 'token_quota':
    case 'token_unavailable':
    case 'user_unavailable': {
      // The rows have changed since they were read: say what they say now.
      const reason = await callers.recheck(text.caller, () => app.addressOf(call.request))
      throw new AppError(reason ?? 'token_quota_insufficient')
    }
    default:
      return refusal satisfies never
  }
}

async function attempt(
  parts: RelayParts,
  call: RelayCall,
  text: TextCall,
  { charge, reserved }: { charge: Charge; reserved: number },
): Promise<AttemptOutcome> {
  const { channel, modelName } = charge
  const url = upstreamUrl(channel.type, channel.baseUrl, text.surface.path, modelName)
  if (url === null) return unsupported(call, channel)
  const request: UpstreamRequest = {
    url,
    method: 'POST',
    headers: upstreamHeaders(parts, channel, text.figures.isStream),
    body: upstreamBody(text, charge),
    firstByteTimeoutMs: parts.app.config.RELAY_FIRST_BYTE_TIMEOUT * 1000,
    idleTimeoutMs: parts.app.config.RELAY_IDLE_TIMEOUT * 1000,
  }
  const prompt = promptOf(parts, text, charge)
  if (!text.figures.isStream) return relayWhole(parts, call, charge, { request, prompt })
  return relayStream(parts, call, charge, {
    request,
    prompt,
    promptEstimate: estimatePromptTokens(text.body, modelName),
    wantsUsage: text.figures.wantsUsage,
    wantsCost: call.request.headers['x-gatehouse-cost'] === '1',
    reserved,
  })
}

function unsupported(call: RelayCall, channel: RoutableChannel): AttemptOutcome {
  const label = channelType(channel.type).label
  const refusal = new AppError('channel_protocol_unsupported', { type: label[call.language] })
  return {
    kind: 'failed',
    error: ownError(refusal, call.language),
    mayRetry: true,
    cause: 'status',
  }
}

function promptOf(
  { app, counter }: RelayParts,
  { surface, body }: TextCall,
  charge: Charge,
): Prompt {
  return {
    count: () =>
      app.options.flag('ApproximateTokenEnabled')
        ? approximateTokens(body.bytes.length)
        : counter.countRequest({
            surface: surface.count,
            model: charge.modelName,
            bytes: body.bytes,
          }),
  }
}

const USER_AGENT = 'Gatehouse'
/** OpenRouter shows its customers which program called, by these. */
const OPENROUTER = 20

function openRouterHeaders({ options }: RelayParts['app']): Record<string, string> {
  const address = options.text('ServerAddress')
  const title = { 'X-Title': USER_AGENT }
  return address === '' ? title : { ...title, 'HTTP-Referer': address }
}

function upstreamHeaders(
  { app }: RelayParts,
  channel: RoutableChannel,
  isStream: boolean,
): Record<string, string> {
  return {
    'content-type': 'application/json',
    accept: isStream ? 'text/event-stream' : 'application/json',
    'accept-encoding': 'identity',
    authorization: `Bearer ${channel.key}`,
    'user-agent': USER_AGENT,
    ...(channel.type === OPENROUTER ? openRouterHeaders(app) : {}),
  }
}

/** Dialects that refuse `stream_options`. */
const WITHOUT_STREAM_OPTIONS: ReadonlySet<number> = new Set([26])

/** The client's own bytes, with the few members changed that this channel needs changed. */
function upstreamBody(text: TextCall, { channel, modelName, isStream }: Charge): Buffer {
  const edits: MemberEdit[] = []
  if (modelName !== text.model || (memberValue(text.body, 'model') ?? null) === null) {
    edits.push({ set: 'model', json: JSON.stringify(modelName) })
  }
  if (isStream && !text.figures.wantsUsage && !WITHOUT_STREAM_OPTIONS.has(channel.type)) {
    edits.push({ set: 'include_usage', inside: 'stream_options', json: 'true' })
  }
  if (channel.systemPrompt !== '' && text.surface.count === 'chat') {
    edits.push(withSystemPrompt(text.body, channel.systemPrompt))
  }
  return edits.length === 0 ? text.body.bytes : splice(text.body, edits)
}
