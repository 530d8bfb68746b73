import {
  isWell,
  liesElsewhere,
  mayRetry,
  type AttemptOutcome,
  type FailureCause,
} from '../attempt.ts'
import type { RelayError } from '../dialect/relay-error.ts'
import { Circuit } from './circuit.ts'
import type { RoutableChannel } from './choose-channel.ts'
import { retryAfterSeconds } from './retry-after.ts'

/**
 * How channels fare, learnt from the calls themselves and by typed causes, never by an upstream's
 * words. Per process: every process makes its own experience within a few calls.
 *
 * - What an upstream asked for by `Retry-After` is kept for channel and model: nobody asks before.
 * - Of a channel with several keys this is so for each of them: they may be of different accounts.
 * - Unreachable, silent and cut connections speak of the whole channel; bad statuses, errors in the
 *   middle of an answer and unreadable answers speak of the channel with this model. Each has its
 *   circuit breaker.
 * - A request that the upstream finds fault with, even amid an answer, shows that the channel is
 *   well.
 */
export interface ChannelHealth {
  /** Whether calls may go there now. `model`: as it is sent upstream. */
  admits(channel: RoutableChannel, model: string): boolean
  /** What was heard of it last was trouble: a call that has failed once rather goes elsewhere. */
  isSuspect(channel: RoutableChannel, model: string): boolean
  /** Seconds until the upstream wants to be asked again; 0: now. */
  waitSeconds(channel: RoutableChannel, model: string): number
  /** A call goes there, now on the clock that never jumps. Answers how to tell what became of it. */
  begin(channel: RoutableChannel, model: string, beganMs: number): (result: AttemptResult) => void
  /** No channel has had any trouble of late, so that nobody needs to be asked. */
  isCalm(): boolean
}

export type AttemptResult =
  | { kind: 'well' }
  | { kind: 'failed'; cause: FailureCause; error: RelayError; mayRetry: boolean }
  /** It began well and broke off in the middle without a word. */
  | { kind: 'broken' }
  /** Nothing was learnt: the client left, or we ended it. */
  | { kind: 'unknown' }

/** What an attempt tells about the channel's health. */
export function resultOf(outcome: AttemptOutcome): AttemptResult {
  if (outcome.kind === 'failed') return outcome
  if (outcome.kind === 'abandoned') return { kind: 'unknown' }
  if (isWell(outcome)) return { kind: 'well' }
  const { said: error = null } = outcome
  if (error === null) return { kind: 'broken' }
  // In the middle an error says the same as at the beginning: it may be about what was asked.
  return { kind: 'failed', cause: 'status', error, mayRetry: mayRetry(error) }
}

type Failure = Extract<AttemptResult, { kind: 'failed' }>

/** Troubles that are kept; the oldest go first. */
const TROUBLES_MAX = 10_000
/** As long as there are any, what is over is looked for so often. */
const FORGET_EVERY_MS = 10_000

interface Clocks {
  nowMs(): number
  monotonicMs(): number
}

export function createChannelHealth(clock: Clocks): ChannelHealth {
  const circuits = new Map<string, Circuit>()
  /** Until when, by channel and model. */
  const throttled = new Map<string, number>()
  let forgotMs = clock.monotonicMs()

  const modelKey = (channel: RoutableChannel, model: string): string =>
    `${channel.id}${channel.keyId} ${model}`
  const channelKey = (channel: RoutableChannel): string => `${channel.id}`

  function waitMs(channel: RoutableChannel, model: string): number {
    if (throttled.size === 0) return 0
    const key = modelKey(channel, model)
    const leftMs = (throttled.get(key) ?? 0) - clock.monotonicMs()
    if (leftMs <= 0) throttled.delete(key)
    return Math.max(0, leftMs)
  }

  function circuitOf(key: string): Circuit {
    const known = circuits.get(key)
    if (known !== undefined) return known
    forgetOld()
    if (circuits.size >= TROUBLES_MAX) dropOldest(circuits)
    const made = new Circuit()
    circuits.set(key, made)
    return made
  }

  /** What nobody has asked about since it was over, as of a channel that is gone. */
  function forgetOld(): void {
    const nowMs = clock.monotonicMs()
    forgotMs = nowMs
    for (const [key, circuit] of circuits) if (circuit.isIdle(nowMs)) circuits.delete(key)
    for (const [key, untilMs] of throttled) if (untilMs <= nowMs) throttled.delete(key)
  }

  function noteFailure(
    [whole, ofModel]: readonly [string, string],
    beganMs: number,
    { cause, error }: Failure,
  ): void {
    const nowMs = clock.monotonicMs()
    const seconds = retryAfterSeconds(error.retryAfter, clock.nowMs())
    if (seconds > 0 && THROTTLING.has(error.status)) {
      if (throttled.size >= TROUBLES_MAX) dropOldest(throttled)
      throttled.set(ofModel, nowMs + seconds * 1000)
      circuits.get(whole)?.succeed(beganMs)
      // It has said when it will be well: there is nothing left to find out.
      circuits.get(ofModel)?.giveBack()
      return
    }
    const isOfChannel = cause === 'network' || cause === 'timeout'
    circuitOf(isOfChannel ? whole : ofModel).fail(beganMs, nowMs)
    if (isOfChannel) circuits.get(ofModel)?.giveBack()
    else circuits.get(whole)?.succeed(beganMs)
  }

  return {
    isCalm() {
      if (circuits.size === 0 && throttled.size === 0) return true
      if (clock.monotonicMs() - forgotMs < FORGET_EVERY_MS) return false
      forgetOld()
      return circuits.size === 0 && throttled.size === 0
    },
    admits(channel, model) {
      if (waitMs(channel, model) > 0) return false
      const nowMs = clock.monotonicMs()
      for (const key of [channelKey(channel), modelKey(channel, model)]) {
        const circuit = circuits.get(key)
        if (circuit === undefined) continue
        if (!circuit.admits(nowMs)) return false
        if (circuit.isIdle(nowMs)) circuits.delete(key)
      }
      return true
    },
    isSuspect: (channel, model) =>
      [channelKey(channel), modelKey(channel, model)].some(
        (key) => circuits.get(key)?.isSuspect === true,
      ),
    waitSeconds: (channel, model) => Math.ceil(waitMs(channel, model) / 1000),
    begin(channel, model, beganMs) {
      const keys = [channelKey(channel), modelKey(channel, model)] as const
      if (circuits.size > 0) for (const key of keys) circuits.get(key)?.begin(beganMs)
      return (result) => {
        if (result.kind === 'failed' && isTrouble(result)) {
          noteFailure(keys, beganMs, result)
          return
        }
        if (result.kind === 'broken') {
          circuitOf(keys[0]).fail(beganMs, clock.monotonicMs())
          return
        }
        if (circuits.size === 0) return
        const isGood = result.kind === 'well' || (result.kind === 'failed' && !isEnded(result))
        for (const key of keys) {
          if (isGood) circuits.get(key)?.succeed(beganMs)
          else circuits.get(key)?.giveBack()
        }
      }
    },
  }
}

const isTrouble = (failure: Failure): boolean =>
  failure.cause !== 'ended' && failure.mayRetry && !liesElsewhere(failure.error)

const isEnded = ({ cause }: { cause: FailureCause }): boolean => cause === 'ended'

/** Statuses that speak of the moment: too many calls, unavailable, overloaded. */
const THROTTLING: ReadonlySet<number> = new Set([429, 503, 529])

function dropOldest(map: Map<string, unknown>): void {
  const oldest = map.keys().next()
  if (!oldest.done) map.delete(oldest.value)
}
