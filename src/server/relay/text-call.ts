import { AppError } from '../app-error.ts'
import type { FailedCall } from '../dashboard/failures.ts'
import { findPrice, reservationOf } from '../ledger/price.ts'
import { allowsModel } from '../token/token.ts'
import type { AttemptOutcome } from './attempt.ts'
import { planAttempt, type AttemptPlan } from './attempt-plan.ts'
import type { SurfaceCall } from './dialect/surfaces.ts'
import { bareModel, geminiFigures, modelInBody } from './gemini/figures.ts'
import { memberValue, scanBody, type ScannedBody } from './json/body-scan.ts'
import { refusePin, type Caller } from './routing/caller.ts'
import { chooseChannel, type RoutableChannel, type Tiers } from './routing/choose-channel.ts'
import { approximateTokens, estimatePromptTokens } from './count/estimate.ts'
import {
  credentialOf,
  sendError,
  type Charge,
  type RelayCall,
  type RelayParts,
} from './relay-call.ts'
import { ownError, type RelayError } from './relay-error.ts'
import { readBody } from './transport/request-body.ts'
import { relayStream } from './stream-answer.ts'
import { readFigures, type FieldProblem, type RequestFigures } from './openai/surfaces.ts'
import { relayWhole, type Prompt } from './whole-answer.ts'

/**
 * A metered call that carries text: authenticate → read → refuse or not → route → price → reserve →
 * for each attempt: choose a channel, send → answer and settle, or release.
 */
export async function relayText(
  parts: RelayParts,
  call: RelayCall,
  asked: SurfaceCall,
): Promise<void> {
  const { caller, body, model, route } = await readTextCall(parts, call, asked)
  const figures = figuresOf(body, asked)
  if ('field' in figures) throw fieldRefusal(figures)
  await runAttempts(parts, call, { caller, asked, body, model, route, figures })
}

/** Who asks for what, and where it may go. Throws the first refusal. */
export async function readTextCall(
  parts: RelayParts,
  call: RelayCall,
  asked: SurfaceCall,
): Promise<Omit<TextCall, 'figures'>> {
  const { app } = parts
  const address = (): string => app.addressOf(call.request)
  const caller = await parts.callers.authenticate(credentialOf(call), address)
  call.attempted = attemptedBy(caller)
  const body = await readRequest(parts, call)
  call.capture = parts.captures.begin(caller.token.id, body.bytes)
  const model = requestedModel(body, asked)
  if (model !== '' && !allowsModel(caller.token, model)) {
    throw new AppError('token_model_not_allowed', { model: shown(model) })
  }
  refusePin(caller)
  const route = await routeOf(parts, caller, model)
  // Only a pinned channel lets a call without a model come this far.
  if (model === '') throw new AppError('relay_field_required', { field: 'model' })
  call.attempted.modelName = model
  return { caller, asked, body, model, route }
}

const attemptedBy = ({ user, token }: Caller): FailedCall => ({
  userId: user.id,
  tokenName: token.name ?? '',
  channelId: 0,
  modelName: '',
})

const fieldRefusal = ({ field, isMissing }: FieldProblem): AppError =>
  new AppError(isMissing ? 'relay_field_required' : 'relay_field_invalid', { field })

function figuresOf(body: ScannedBody, asked: SurfaceCall): RequestFigures | FieldProblem {
  const { surface, isStream } = asked
  if (surface.dialect !== 'gemini') return readFigures(body, surface)
  const figures = geminiFigures(body, surface.required)
  return 'field' in figures ? figures : { ...figures, isStream: isStream ?? false }
}

export interface TextCall {
  caller: Caller
  asked: SurfaceCall
  body: ScannedBody
  /** As the client named it. */
  model: string
  route: Route
  figures: RequestFigures
}

export interface Route {
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
function requestedModel(body: ScannedBody, { surface, model }: SurfaceCall): string {
  if (model !== null) {
    const repeated = modelInBody(body)
    const isOther = repeated !== null && repeated !== bareModel(model)
    if (isOther) throw new AppError('relay_field_invalid', { field: 'model' })
    return bareModel(model)
  }
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
  let attempts = 0
  let reserved: number | null = null
  let last: RelayError | null = null
  try {
    while (attempts < attemptsMax && !call.isGone) {
      const channel = chooseChannel(text.route.tiers, tried, parts.random)
      if (channel === null) break
      tried.add(channel.id)
      if (call.attempted !== null) call.attempted.channelId = channel.id
      const prepared = prepare(parts, call, text, channel)
      if (prepared instanceof AppError) {
        // Another channel may have a price for it, or the words.
        last ??= ownError(prepared, call.language)
        continue
      }
      reserved ??= await reserve(parts, call, text, prepared.charge)
      if (call.isGone) break
      attempts += 1
      const outcome = await attempt(parts, call, text, { ...prepared, reserved })
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

interface Prepared {
  charge: Charge
  plan: AttemptPlan
}

/** What is charged and sent if this channel is asked, or why it cannot be. */
function prepare(
  parts: RelayParts,
  call: RelayCall,
  text: TextCall,
  channel: RoutableChannel,
): Prepared | AppError {
  const charge = chargeOf(parts, text, channel)
  if (charge === null) return new AppError('model_unpriced', { model: shown(text.model) })
  const plan = planAttempt(parts, call, text, charge)
  return plan instanceof AppError ? plan : { charge, plan }
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

function attempt(
  parts: RelayParts,
  call: RelayCall,
  text: TextCall,
  { charge, plan, reserved }: Prepared & { reserved: number },
): Promise<AttemptOutcome> {
  const prompt = promptOf(parts, text, charge)
  if (!text.figures.isStream) return relayWhole(parts, call, charge, { plan, prompt })
  return relayStream(parts, call, charge, {
    attempt: plan,
    prompt,
    promptEstimate: estimatePromptTokens(text.body, charge.modelName),
    wantsCost: call.request.headers['x-gatehouse-cost'] === '1',
    reserved,
  })
}

function promptOf({ app, counter }: RelayParts, { asked, body }: TextCall, charge: Charge): Prompt {
  return {
    count: () =>
      app.options.flag('ApproximateTokenEnabled')
        ? approximateTokens(body.bytes.length)
        : counter.countRequest({
            surface: asked.surface.count,
            model: charge.modelName,
            bytes: body.bytes,
          }),
  }
}
