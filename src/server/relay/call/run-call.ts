import type { FieldProblem, RequestFigures, SurfaceCall } from '../dialect/surface.ts'
import { AppError } from '../../app-error.ts'
import type { FailedCall } from '../../dashboard/failures.ts'
import { findPrice } from '../../ledger/price.ts'
import { allowsModel } from '../../token/token.ts'
import { asMeant } from '../surfaces/agent-chat.ts'
import { isWell, type AttemptOutcome } from '../errors/attempt-outcome.ts'
import { planAttempt, type AttemptPlan } from './plan.ts'
import { WRITING_TASKS, type Task } from '../dialect/provider.ts'
import { takesSystemPrompt } from '../conversion/splice.ts'
import { bareModel, geminiFigures, modelInBody } from '../gemini/figures.ts'
import { hold, type Hold } from './reserve.ts'
import { refuseUnpayable } from './unpayable.ts'
import { memberValue, type ScannedBody } from '../json/body-scan.ts'
import { conversationOf } from '../routing/conversation/affinity.ts'
import { refusePin, type Caller, type KeyOwner } from '../routing/caller.ts'
import { sentModel, type RoutableChannel } from '../routing/choose-channel.ts'
import { mayUseOtherKey } from '../routing/key-turns.ts'
import { resultOf } from '../routing/health.ts'
import {
  defaultModel,
  nextChannel,
  noChannel,
  routeAt,
  routeOf,
  routeTo,
  trialOf,
  waitError,
  type Route,
} from './route.ts'
import { refuseUnpriced } from '../surfaces/unpriced.ts'
import { relayRecording } from './respond-sound.ts'
import { approximateTokens, estimatePromptTokens } from '../count/estimate.ts'
import { authenticateCall } from './authenticate.ts'
import { refuseCall, type Charge, type RelayCall, type RelayParts } from './call.ts'
import { fieldRefusal } from '../dialect/fields.ts'
import { readRequest, type ReadRequest } from './read-request.ts'
import { ownError, shown, type RelayError } from '../dialect/relay-error.ts'
import { convertedError } from '../errors/client-error.ts'
import { mayHaveBeenCharged, verdictOf } from '../errors/verdict.ts'
import { sendRefusal } from './send-refusal.ts'
import { sendOrAsChat } from './second-form.ts'
import { keepsResponses } from '../other-calls/stored-response-call.ts'
import { referredItems, type ReferredItems } from '../responses/referred-items.ts'
import { earlierResponse, rememberResponse } from './stored-responses.ts'
import { relayStream } from '../stream-answer.ts'
import { readFigures } from '../surfaces/figures.ts'
import { keepTrace, noteNoChannel } from './watch.ts'
import { noteAnswer, noteAttempt, noteBroken, noteFailure } from './note-attempt.ts'
import { trailOf } from '../routing/trail.ts'
import { relayWhole, type Prompt } from '../whole-answer.ts'
import { traitsOf } from '../vendors/registry.ts'

/**
 * A call that is metered and charged, whatever it carries: authenticate → read → refuse or not →
 * route → price → reserve → for each attempt: choose a channel, send → answer and settle, or
 * release.
 */
export async function relayText(
  parts: RelayParts,
  call: RelayCall,
  asked: SurfaceCall,
): Promise<void> {
  const read = await readTextCall(parts, call, asked)
  const figures = figuresOf(read)
  if ('field' in figures) throw fieldRefusal(figures, asked.surface)
  refuseUnpriced(read)
  const followed = { ...read, ...(await followResponse(parts, call, read)) }
  const text: TextCall = { ...followed, figures, conversation: conversationOf(followed) }
  await runAttempts(parts, call, text)
}

/** What goes on from a stored response goes where it is stored, and reads all that came before. */
async function followResponse(
  parts: RelayParts,
  call: RelayCall,
  read: ReadCall,
): Promise<Pick<TextCall, 'route' | 'referred' | 'earlierTokens'>> {
  const { asked, body, caller, model, route } = read
  if (asked.surface.count !== 'responses') return { route, referred: null, earlierTokens: 0 }
  const isKept = (): boolean =>
    route.tiers.length === 0 ||
    route.tiers.flat().some((channel) => keepsResponses(parts, call, channel, model))
  const earlier = await earlierResponse(parts, caller, { body, isKept })
  const referred = await referredItems(parts, caller, body)
  if (earlier !== null) {
    const earlierTokens = earlier.total_tokens
    return { route: await routeTo(parts, read, earlier), referred, earlierTokens }
  }
  const { last } = referred
  const place = last === null ? null : await routeAt(parts, read, last)
  return { route: place ?? route, referred, earlierTokens: 0 }
}

/** Who asks for what, and where it may go. Throws the first refusal. */
export async function readTextCall(
  parts: RelayParts,
  call: RelayCall,
  asked: SurfaceCall,
): Promise<ReadCall> {
  const note = (owner: KeyOwner): void => {
    call.attempted = attemptedBy(owner)
  }
  const caller = await authenticateCall(parts, call, note)
  call.caller = caller
  call.attempted = attemptedBy(caller)
  await refuseUnpayable(parts, call, caller)
  const { body, form } = await readRequest(parts, call, { caller, task: asked.surface.task })
  call.capture = parts.captures.begin(caller.token.id, body.bytes)
  const model = requestedModel(body, asked) || (await defaultModel(parts, caller, asked.surface))
  if (model !== '' && !allowsModel(caller.token, model)) {
    throw new AppError('token_model_not_allowed', { model: shown(model) })
  }
  refusePin(caller)
  let route: Route
  try {
    route = await routeOf(parts, caller, model)
  } catch (error) {
    noteNoChannel(parts, call, { caller, model }, error)
    throw error
  }
  // Only a pinned channel lets a call without a model come this far.
  if (model === '') throw new AppError('relay_field_required', { field: 'model' })
  call.attempted.modelName = model
  return { caller, asked: asMeant(asked, body), body, form, model, route }
}

const attemptedBy = ({ user, token }: KeyOwner): FailedCall => ({
  userId: user.id,
  tokenName: token.name ?? '',
  channelId: 0,
  modelName: '',
})

function figuresOf(read: ReadCall): RequestFigures | FieldProblem {
  const { body, model } = read
  const { surface, isStream } = read.asked
  if (surface.figures !== undefined) return surface.figures(read)
  if (surface.dialect !== 'gemini') return readFigures(body, surface)
  const figures = geminiFigures(body, { required: surface.required, model })
  return 'field' in figures ? figures : { ...figures, isStream: isStream ?? false }
}

/** What the request says, and where it may go. */
export interface ReadCall extends ReadRequest {
  caller: Caller
  asked: SurfaceCall
  /** As the client named it. */
  model: string
  route: Route
}

export interface TextCall extends ReadCall {
  figures: RequestFigures
  /** Items that a request of the Responses API names; null: another API. */
  referred: ReferredItems | null
  /** What the upstream reads again from a stored response. */
  earlierTokens: number
  /** See `Affinity`; null: nothing tells one from another. */
  conversation: string | null
  /** The most tokens that each reply may have, because the balance does not cover more. */
  outputLimit?: number
}

/** The model as the client named it; '': it did not. */
function requestedModel(body: ScannedBody, { model }: SurfaceCall): string {
  if (model !== null) {
    const repeated = modelInBody(body)
    const isOther = repeated !== null && repeated !== bareModel(model)
    if (isOther) throw new AppError('relay_field_invalid', { field: 'model' })
    return bareModel(model)
  }
  const value = memberValue(body, 'model') ?? ''
  if (typeof value !== 'string') throw new AppError('relay_field_invalid', { field: 'model' })
  return value
}

/** Tries channels until one answers; the quota is reserved once, whatever the number of attempts. */
async function runAttempts(parts: RelayParts, call: RelayCall, text: TextCall): Promise<void> {
  const { app, recorder } = parts
  const attemptsMax = text.route.isPinned ? 1 : 1 + app.options.number('RetryTimes')
  const tried = new Set<number>()
  let attempts = 0
  let held: Hold | null = null
  let last: RelayError | null = null
  /** Every channel refuses because of its key, account or address: asking again soon is no use. */
  let isRefusedByAll = true
  try {
    const { paused, tiers } = text.route
    if (tiers.length === 0) trailOf(call).outcome = 'no_channel'
    let trial = paused.length === 0 ? null : await trialOf(parts, paused)
    while (attempts < attemptsMax && !call.isGone) {
      const channel = trial ?? nextChannel(parts, call, text, { tried, isFirst: attempts === 0 })
      if (channel === null) break
      const isTrial = trial !== null || channel.pause !== null
      trial = null
      tried.add(channel.id)
      if (call.attempted !== null) call.attempted.channelId = channel.id
      const prepared = prepare(parts, call, text, channel)
      if (prepared instanceof AppError) {
        // Another channel may have a price for it, or the words.
        trailOf(call).skip(channel, prepared.code === 'model_unpriced' ? 'price' : 'protocol')
        last ??= refusalOf(call, prepared)
        continue
      }
      const prompt = promptOf(parts, text, prepared)
      const holding = await hold(parts, call, text, { ...prepared, prompt, held })
      if (holding === null) {
        trailOf(call).skip(channel, 'balance')
        continue
      }
      held = holding
      if (call.isGone) break
      const { points, outputLimit } = holding
      const limited = outputLimit === null ? text : { ...text, outputLimit }
      const ready = outputLimit === null ? prepared : prepare(parts, call, limited, channel)
      if (ready instanceof AppError) {
        trailOf(call).skip(channel, 'protocol')
        last ??= refusalOf(call, ready)
        continue
      }
      // A trial is our wish and not the client's: it takes none of its attempts.
      if (!isTrial) attempts += 1
      const sending = { ...ready, prompt, reserved: points, isTrial }
      const tapped = recorder.isOn
        ? recorder.tapped(parts, call, recordedAttempt(text, sending))
        : parts
      const outcome = await watchedAttempt(tapped, call, limited, sending)
      if (outcome.kind !== 'failed') {
        held = null
        if (isWell(outcome)) noteAnswer(parts, call, { channel, text, isTrial })
        else if (outcome.kind === 'answered' && outcome.broken) {
          noteBroken(parts, call, {
            channel,
            text,
            broken: outcome.broken,
            said: outcome.said ?? null,
          })
        }
        return
      }
      noteFailure(parts, call, { channel, text, outcome })
      last = outcome.error
      isRefusedByAll &&= last.told !== undefined
      if (!verdictOf(outcome).retry) break
      if (mayHaveBeenCharged(text.asked.surface.task, outcome, ready.plan.request)) {
        call.headers.push('X-Should-Retry', 'false')
        break
      }
      if (mayUseOtherKey(channel, outcome, { tiers, tried, used: call.trail?.usedKeys })) {
        tried.delete(channel.id)
      }
    }
  } finally {
    // Whatever went wrong before an answer: the reservation goes back. Closed calls are left alone.
    if (held !== null) await app.ledger.release(call.requestId)
    if (call.trail !== null) keepTrace(parts, call, text, call.trail)
  }
  if (call.isGone) return
  if (text.route.tiers.length === 0) throw noChannel(text.caller, text.model)
  const error = last ?? waitError(parts, call, text)
  const { nowSeconds } = app.clock
  if (last?.told !== undefined && isRefusedByAll) call.headers.push('X-Should-Retry', 'false')
  if (error !== null) sendRefusal(call, text, { error, nowSeconds: nowSeconds() })
}

const recordedAttempt = ({ caller, model, body, form }: TextCall, { charge }: Prepared) => ({
  caller,
  channel: charge.channel,
  body: form?.bytes ?? body.bytes,
  modelRequested: model,
  modelSent: charge.modelName,
})

function refusalOf(call: RelayCall, refusal: AppError): RelayError {
  refuseCall(call, refusal.code)
  return ownError(refusal, call.language)
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

/** Null when the model has no price on this channel. */
function chargeOf(parts: RelayParts, text: TextCall, channel: RoutableChannel): Charge | null {
  const modelName = sentModel(channel, text.model)
  const price = findPrice(parts.app.options.ratios(), {
    requested: text.model,
    mapped: modelName,
    channelType: channel.type,
    group: text.route.group,
  })
  if (price === null) return null
  const { metering: ofCall, searched } = text.figures
  const byPictureToken = price.imageCompletionRatio !== null && price.perCall === null
  const sold = { traits: traitsOf(channel.type), byPictureToken }
  const metering = ofCall?.(price.pricedAs, sold) ?? searched?.(price.pricedAs, modelName)
  return {
    caller: text.caller,
    channel,
    price,
    ...(metering === undefined ? {} : { metering }),
    requestedModel: text.model,
    modelName,
    isStream: text.figures.isStream,
    outputLimit: text.outputLimit ?? null,
    resetsSystemPrompt: channel.systemPrompt !== '' && takesSystemPrompt(text.asked.surface),
    beforeEnd:
      text.figures.seen === undefined ? null : () => rememberResponse(parts, channel, text),
  }
}

interface Attempt extends Prepared {
  prompt: Prompt
  /** Points held back for the call. */
  reserved: number
}

/** Asks a channel, and lets those know who watch how channels fare. */
async function watchedAttempt(
  parts: RelayParts,
  call: RelayCall,
  text: TextCall,
  { isTrial, ...prepared }: Attempt & { isTrial: boolean },
): Promise<AttemptOutcome> {
  const { channel, modelName } = prepared.charge
  const beganMs = parts.app.clock.monotonicMs()
  const tell = parts.health.begin(channel, modelName, beganMs)
  const onBegin = (): void => tell({ kind: 'well' })
  const outcome = await attempt(parts, call, text, { ...prepared, onBegin })
  tell(resultOf(outcome))
  if (isTrial || call.trail !== null || outcome.kind === 'failed') {
    noteAttempt(parts, call, text, { channel, outcome, isTrial, beganMs })
  }
  return outcome
}

function attempt(
  parts: RelayParts,
  call: RelayCall,
  text: TextCall,
  { charge, plan, prompt, reserved, onBegin }: Attempt & { onBegin: () => void },
): Promise<AttemptOutcome> {
  call.notes = plan.notes
  if (text.figures.isRecording === true) {
    return relayRecording(parts, call, charge, { plan, prompt, reserved, onBegin })
  }
  const send = async (sent: AttemptPlan): Promise<AttemptOutcome> => {
    call.notes = sent.notes
    const outcome = text.figures.isStream
      ? relayStream(parts, call, charge, {
          attempt: sent,
          prompt,
          promptEstimate: estimatePromptTokens(text.body, charge.modelName),
          wantsCost: call.request.headers['x-gatehouse-cost'] === '1',
          reserved,
          replies: text.figures.replies ?? 1,
          onBegin,
        })
      : relayWhole(parts, call, charge, { plan: sent, prompt })
    return outcomeForClient(text.asked, sent, await outcome)
  }
  return sendOrAsChat(parts, call, { planned: text, charge, plan }, send)
}

/** The outcome with a refusal in the words of the client's dialect. */
function outcomeForClient(
  { surface }: SurfaceCall,
  { convert }: AttemptPlan,
  outcome: AttemptOutcome,
): AttemptOutcome {
  if (outcome.kind !== 'failed') return outcome
  const { error } = outcome
  const told =
    convert === null ? { ...error, tooLong: undefined } : convertedError(error, surface.dialect)
  return { ...outcome, error: told }
}

function promptOf(
  { app, counter }: RelayParts,
  { asked, body, earlierTokens }: TextCall,
  { charge, plan: { estimate } }: Prepared,
): Prompt {
  return {
    estimate,
    isText: estimate === null && writesText(asked.surface.task, body),
    count: async () =>
      earlierTokens +
      (app.options.flag('ApproximateTokenEnabled')
        ? approximateTokens(body.bytes.length)
        : await counter.countRequest({
            surface: asked.surface.count,
            model: charge.modelName,
            bytes: body.bytes,
          })),
  }
}

/** An answer that repeats its prompt holds text that nobody has written. */
const writesText = (task: Task, body: ScannedBody): boolean =>
  WRITING_TASKS.has(task) && memberValue(body, 'echo') !== true
