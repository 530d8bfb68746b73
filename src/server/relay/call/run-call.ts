import { AppError } from '../../app-error.ts'
import type { FailedCall } from '../../dashboard/failures.ts'
import type { FailedAttempt } from '../errors/attempt-outcome.ts'
import { mayHaveBeenCharged, verdictOf } from '../errors/verdict.ts'
import { ownError, type RelayError } from '../protocols/dialect/relay-error.ts'
import type { SurfaceCall } from '../protocols/dialect/surface.ts'
import type { KeyOwner } from '../routing/caller.ts'
import type { RoutableChannel } from '../routing/choose-channel.ts'
import { conversationOf } from '../routing/conversation/affinity.ts'
import { mayUseOtherKey } from '../routing/key-turns.ts'
import { trailOf } from '../routing/trail.ts'
import { authenticate, refuseUnpayable } from './authenticate.ts'
import { refuseCall, type Call, type RelayParts } from './call.ts'
import { planAttempt, type Attempt } from './plan.ts'
import { readCallFigures, readRequest } from './read-request.ts'
import { hold, type Hold } from './reserve.ts'
import { findRoute, nextChannel, noChannel, trialOf, waitError } from './route.ts'
import { sendAttempt } from './send.ts'
import { sendRefusal } from './respond/send-refusal.ts'
import { followStored } from './stored-responses.ts'
import { keepTrace, noteFailure } from './watch.ts'

/**
 * Runs a call that is metered and charged, for every task. Described in docs/architecture.md, "The
 * life of a call".
 */
export async function runCall(parts: RelayParts, call: Call, asked: SurfaceCall): Promise<void> {
  await receiveCall(parts, call, asked)
  readCallFigures(call)
  await keepPlace(parts, call)
  await tryChannels(parts, call)
}

/** Authenticates the caller, reads the request and finds its channels. Throws the first refusal. */
export async function receiveCall(
  parts: RelayParts,
  call: Call,
  asked: SurfaceCall,
): Promise<void> {
  const noteOwner = (owner: KeyOwner): void => {
    call.attempted = attemptedBy(owner)
  }
  noteOwner(await authenticate(parts, call, noteOwner))
  parts.admission.refuseIfFull(call.caller.token.id)
  await refuseUnpayable(parts, call)
  await readRequest(parts, call, asked)
  await findRoute(parts, call)
}

const attemptedBy = ({ user, token }: KeyOwner): FailedCall => ({
  userId: user.id,
  tokenName: token.name ?? '',
  channelId: 0,
  modelName: '',
})

/**
 * Binds the call to the channel that last served its conversation, or to the channel that stores
 * the response it continues.
 */
async function keepPlace(parts: RelayParts, call: Call): Promise<void> {
  const { input, caller } = call
  const { surface, body, model } = input
  if (surface.isStored === true) {
    const { place, ...followed } = await followStored(parts, call)
    call.route = { ...call.route, ...place, ...followed }
  }
  const { group, isPinned } = call.route
  // If the channel is fixed, there is nothing to choose or learn.
  if (isPinned) return
  const owner = { userId: caller.user.id, group, model }
  call.route.conversation = conversationOf(surface.dialect, body, owner)
}

/** The progress of a call through its channels. */
interface Progress {
  /** Ids of channels that are not asked again. */
  tried: Set<number>
  /** Number of attempts, without trials. */
  attempts: number
  /** The reservation; null if nothing is reserved or the call is settled. */
  held: Hold | null
  /** The error of the last channel; null if none has failed. */
  last: RelayError | null
  /** Every channel refused because of its key, account or address: retrying soon does not help. */
  isRefusedByAll: boolean
}

/**
 * Plans, reserves and sends, channel after channel, until one responds. The quota is reserved once
 * for all attempts. If no channel responds, the client receives the last refusal.
 */
async function tryChannels(parts: RelayParts, call: Call): Promise<void> {
  const { app } = parts
  const { route } = call
  const attemptsMax = route.isPinned ? 1 : 1 + app.options.number('RetryTimes')
  const progress: Progress = {
    tried: new Set(),
    attempts: 0,
    held: null,
    last: null,
    isRefusedByAll: true,
  }
  try {
    if (route.tiers.length === 0) trailOf(call).outcome = 'no_channel'
    let trial = route.paused.length === 0 ? null : await trialOf(parts, route.paused)
    while (progress.attempts < attemptsMax && !call.isGone) {
      const isFirst = progress.attempts === 0
      const channel = trial ?? nextChannel(parts, call, { tried: progress.tried, isFirst })
      if (channel === null) break
      const isTrial = trial !== null || channel.pause !== null
      trial = null
      progress.tried.add(channel.id)
      if (call.attempted !== null) call.attempted.channelId = channel.id
      const attempt = await prepare(parts, call, channel, progress)
      if (call.isGone) break
      if (attempt === null) continue
      call.attempt = { ...attempt, isTrial }
      // A trial serves the operator and does not count as one of the client's attempts.
      if (!isTrial) progress.attempts += 1
      const outcome = await sendAttempt(parts, call)
      if (outcome.kind !== 'failed') {
        progress.held = null
        return
      }
      if (!mayGoOn(parts, call, outcome, progress)) break
      call.leaveAttempt()
    }
  } finally {
    // The reservation of a call without a response is released. Closed calls are not changed.
    if (progress.held !== null) await app.ledger.release(call.requestId)
    if (call.trail !== null) keepTrace(parts, call, call.trail)
  }
  if (!call.isGone) refuse(parts, call, progress)
}

/**
 * Plans the attempt and reserves its cost. Returns null if this channel is skipped, because it has
 * no price for the call, does not support it, or costs more than the reservation covers.
 */
async function prepare(
  parts: RelayParts,
  call: Call,
  channel: RoutableChannel,
  progress: Progress,
): Promise<Attempt | null> {
  const pass = (refusal: AppError): null => {
    trailOf(call).skip(channel, refusal.code === 'model_unpriced' ? 'price' : 'protocol')
    // Another channel may have a price for the call or support it.
    progress.last ??= refusalOf(call, refusal)
    return null
  }
  const planned = planAttempt(parts, call, channel)
  if (planned instanceof AppError) return pass(planned)
  const held = await hold(parts, call, planned, progress.held)
  if (held === null) {
    trailOf(call).skip(channel, 'balance')
    return null
  }
  progress.held = held
  const { points, outputLimit } = held
  if (outputLimit === null || call.isGone) return { ...planned, reserved: points }
  const limited = planAttempt(parts, call, channel, outputLimit)
  return limited instanceof AppError ? pass(limited) : { ...limited, reserved: points }
}

function refusalOf(call: Call, refusal: AppError): RelayError {
  refuseCall(call, refusal.code)
  return ownError(refusal, call.language)
}

/** Records a failed attempt. Returns whether to try another channel or key. */
function mayGoOn(
  parts: RelayParts,
  call: Call,
  outcome: FailedAttempt,
  progress: Progress,
): boolean {
  const { channel, request } = call.attempt
  const { tried } = progress
  noteFailure(parts, call, outcome)
  progress.last = outcome.error
  progress.isRefusedByAll &&= outcome.error.told !== undefined
  if (!verdictOf(outcome).retry) return false
  if (mayHaveBeenCharged(call.input.surface.task, outcome, request)) {
    call.headers.push('X-Should-Retry', 'false')
    return false
  }
  const { tiers } = call.route
  if (mayUseOtherKey(channel, outcome, { tiers, tried, used: call.trail?.usedKeys })) {
    tried.delete(channel.id)
  }
  return true
}

/** Sends the client the reason why no channel responded. */
function refuse(parts: RelayParts, call: Call, { last, isRefusedByAll }: Progress): void {
  if (call.route.tiers.length === 0) throw noChannel(call.caller, call.input.model)
  const error = last ?? waitError(parts, call)
  if (last?.told !== undefined && isRefusedByAll) call.headers.push('X-Should-Retry', 'false')
  if (error !== null) sendRefusal(call, error, parts.app.clock.nowSeconds())
}
