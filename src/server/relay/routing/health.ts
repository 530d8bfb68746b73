import { type AttemptOutcome, type BrokenBy, type FailureCause } from '../errors/attempt-outcome.ts'
import { verdictOf } from '../errors/verdict.ts'
import type { GoodNews } from '../../channel/notice/channel-news.ts'
import type { RelayError } from '../protocols/dialect/relay-error.ts'
import { Circuit } from './circuit.ts'
import type { RoutableChannel } from './choose-channel.ts'
import { retryAfterSeconds } from '../transport/retry-after.ts'

/**
 * Channel health, learned from real calls by typed causes, never from an upstream's messages. Per
 * process: each process learns it within a few calls.
 *
 * - `Retry-After` of an upstream is stored for channel and model: no call is sent before it ends.
 * - If a channel has several keys, `Retry-After` is stored for each: they may belong to different
 *   accounts.
 * - A channel whose address or key changes counts as a new channel.
 * - Unreachable upstreams and cut connections affect the whole channel. Error statuses, timeouts,
 *   unreadable responses and errors in the middle of a response affect the channel with this model.
 *   Each has its own circuit breaker.
 * - A request error reported by the upstream, even in the middle of a response, shows that the
 *   channel is healthy.
 */
export interface ChannelHealth {
  /** Whether calls may be sent there now. `model`: the name sent upstream. */
  admits(channel: RoutableChannel, model: string): boolean
  /** Whether the last result was a failure: a retry uses other channels if possible. */
  isSuspect(channel: RoutableChannel, model: string): boolean
  /** Seconds until the upstream accepts requests again; 0 if it does now. */
  waitSeconds(channel: RoutableChannel, model: string): number
  /**
   * Records the start of a call, `beganMs` on the monotonic clock. Returns a function to report its
   * results: success as soon as the response begins, and how it ended.
   */
  begin(channel: RoutableChannel, model: string, beganMs: number): (result: AttemptResult) => void
  /** No channel has had any recent failure, so that no checks are needed. */
  isCalm(): boolean
  /** Drops recorded failures after a successful test or a change of the channel. */
  forget(news: GoodNews): void
}

export type AttemptResult =
  | { kind: 'well' }
  | { kind: 'failed'; cause: FailureCause; error: RelayError }
  /** The response began and broke off in the middle without an error from the upstream. */
  | { kind: 'broken'; by: BrokenBy }
  /** Nothing was learned: the client left, or this server ended the call. */
  | { kind: 'unknown' }

/** Returns what an attempt shows about the channel's health. */
export function resultOf(outcome: AttemptOutcome): AttemptResult {
  if (outcome.kind === 'failed') return outcome
  if (outcome.kind === 'abandoned') return { kind: 'unknown' }
  const { broken: by = null, said: error = null } = outcome
  if (by === null) return { kind: 'well' }
  if (error === null) return { kind: 'broken', by }
  // An error in the middle of a response counts like one at its start: it may be a request error.
  return { kind: 'failed', cause: 'status', error }
}

type Failure = Extract<AttemptResult, { kind: 'failed' }>

interface ToldCall {
  beganMs: number
  /** Whether success has already been reported. */
  wasWell: boolean
}

/** Maximum number of stored failures; the oldest are dropped. */
const TROUBLES_MAX = 10_000
/** Interval in milliseconds between removals of expired entries, while there are any. */
const FORGET_EVERY_MS = 10_000

interface Clocks {
  nowMs(): number
  monotonicMs(): number
}

export function createChannelHealth(clock: Clocks): ChannelHealth {
  const circuits = new Map<string, Circuit>()
  /** End of the throttling by channel and model. */
  const throttled = new Map<string, number>()
  let forgotMs = clock.monotonicMs()

  const channelKey = ({ id, account }: RoutableChannel): string => `${id} ${account}`
  const modelKey = (channel: RoutableChannel, model: string): string =>
    `${channelKey(channel)} ${channel.keyId} ${model}`

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

  /** Drops expired entries that no call has looked up, such as those of a deleted channel. */
  function forgetOld(): void {
    const nowMs = clock.monotonicMs()
    forgotMs = nowMs
    for (const [key, circuit] of circuits) if (circuit.isIdle(nowMs)) circuits.delete(key)
    for (const [key, untilMs] of throttled) if (untilMs <= nowMs) throttled.delete(key)
  }

  function noteFailure(
    [whole, ofModel]: readonly [string, string],
    { beganMs, wasWell }: ToldCall,
    { cause, error }: Failure,
  ): void {
    const nowMs = clock.monotonicMs()
    const seconds = retryAfterSeconds(error.retryAfter, clock.nowMs())
    if (seconds > 0 && THROTTLING.has(error.status)) {
      if (throttled.size >= TROUBLES_MAX) dropOldest(throttled)
      throttled.set(ofModel, nowMs + seconds * 1000)
      if (!wasWell) circuits.get(whole)?.succeed(beganMs)
      // The upstream has named the end of the throttling, so no probe is needed.
      circuits.get(ofModel)?.giveBack()
      return
    }
    const isOfChannel = cause === 'network'
    circuitOf(isOfChannel ? whole : ofModel).fail(beganMs, nowMs, { wasWell })
    if (isOfChannel) circuits.get(ofModel)?.giveBack()
    // An upstream that accepts a call and times out may be working on it or be down.
    else if (cause === 'timeout') circuits.get(whole)?.giveBack()
    else if (!wasWell) circuits.get(whole)?.succeed(beganMs)
  }

  return {
    isCalm() {
      if (circuits.size === 0 && throttled.size === 0) return true
      if (clock.monotonicMs() - forgotMs < FORGET_EVERY_MS) return false
      forgetOld()
      return circuits.size === 0 && throttled.size === 0
    },
    forget(news) {
      for (const troubles of [circuits, throttled]) {
        for (const key of troubles.keys()) if (isAbout(key, news)) troubles.delete(key)
      }
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
      let wasWell = false
      return (result) => {
        if (result.kind === 'failed' && verdictOf(result).isTrouble) {
          noteFailure(keys, { beganMs, wasWell }, result)
          return
        }
        if (result.kind === 'broken') {
          const key = keys[result.by === 'network' ? 0 : 1]
          circuitOf(key).fail(beganMs, clock.monotonicMs(), { wasWell })
          return
        }
        if (wasWell) return
        wasWell = result.kind === 'well'
        if (circuits.size === 0) return
        const isGood = wasWell || (result.kind === 'failed' && !isEnded(result))
        for (const key of keys) {
          if (isGood) circuits.get(key)?.succeed(beganMs)
          else circuits.get(key)?.giveBack()
        }
      }
    },
  }
}

/**
 * Whether an entry concerns the news. An entry of the whole channel concerns each of its keys and
 * models. A channel's only key has no id.
 */
function isAbout(key: string, { ids, keyId, model }: GoodNews): boolean {
  const [id, , itsKey, ...itsModel] = key.split(' ')
  if (!ids.includes(Number(id))) return false
  if (itsKey === undefined) return true
  return (
    (keyId === undefined || itsKey === '' || keyId === itsKey) &&
    (model === undefined || model === itsModel.join(' '))
  )
}

const isEnded = ({ cause }: { cause: FailureCause }): boolean => cause === 'ended'

/** Statuses of temporary conditions: rate limited, unavailable, overloaded. */
const THROTTLING: ReadonlySet<number> = new Set([429, 503, 529])

function dropOldest(map: Map<string, unknown>): void {
  const oldest = map.keys().next()
  if (!oldest.done) map.delete(oldest.value)
}
