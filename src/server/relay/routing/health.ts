import { type AttemptOutcome, type BrokenBy, type FailureCause } from '../errors/attempt-outcome.ts'
import { verdictOf } from '../errors/verdict.ts'
import type { GoodNews } from '../../channel/notice/channel-news.ts'
import type { RelayError } from '../dialect/relay-error.ts'
import { Circuit } from './circuit.ts'
import type { RoutableChannel } from './choose-channel.ts'
import { retryAfterSeconds } from '../transport/retry-after.ts'

/**
 * How channels fare, learnt from the calls themselves and by typed causes, never by an upstream's
 * words. Per process: every process makes its own experience within a few calls.
 *
 * - What an upstream asked for by `Retry-After` is kept for channel and model: nobody asks before.
 * - Where a channel has several keys, `Retry-After` is kept for each: they may belong to different
 *   accounts.
 * - A channel that is sent elsewhere, or given another key, is another one.
 * - Unreachable and cut connections speak of the whole channel; bad statuses, silence, unreadable
 *   answers and errors in the middle of one speak of the channel with this model. Each has its
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
  /**
   * A call goes there, now on the clock that never jumps. Answers how to tell what became of it:
   * that it goes well as soon as it is answered, and how it ended.
   */
  begin(channel: RoutableChannel, model: string, beganMs: number): (result: AttemptResult) => void
  /** No channel has had any trouble of late, so that nobody needs to be asked. */
  isCalm(): boolean
  /** Somebody knows better than the calls that came before: their troubles are over. */
  forget(news: GoodNews): void
}

export type AttemptResult =
  | { kind: 'well' }
  | { kind: 'failed'; cause: FailureCause; error: RelayError }
  /** It began well and broke off in the middle without a word. */
  | { kind: 'broken'; by: BrokenBy }
  /** Nothing was learnt: the client left, or we ended it. */
  | { kind: 'unknown' }

/** What an attempt tells about the channel's health. */
export function resultOf(outcome: AttemptOutcome): AttemptResult {
  if (outcome.kind === 'failed') return outcome
  if (outcome.kind === 'abandoned') return { kind: 'unknown' }
  const { broken: by = null, said: error = null } = outcome
  if (by === null) return { kind: 'well' }
  if (error === null) return { kind: 'broken', by }
  // In the middle an error says the same as at the beginning: it may be about what was asked.
  return { kind: 'failed', cause: 'status', error }
}

type Failure = Extract<AttemptResult, { kind: 'failed' }>

interface ToldCall {
  beganMs: number
  /** That it goes well has been told. */
  wasWell: boolean
}

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

  /** What nobody has asked about since it was over, as of a channel that is gone. */
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
      // It has said when it will be well: there is nothing left to find out.
      circuits.get(ofModel)?.giveBack()
      return
    }
    const isOfChannel = cause === 'network'
    circuitOf(isOfChannel ? whole : ofModel).fail(beganMs, nowMs, { wasWell })
    if (isOfChannel) circuits.get(ofModel)?.giveBack()
    // Who takes a call and is silent may be at work on it, or be gone.
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
 * What is known of the whole channel is about each of its keys and models. The only key has no
 * name.
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

/** Statuses that speak of the moment: too many calls, unavailable, overloaded. */
const THROTTLING: ReadonlySet<number> = new Set([429, 503, 529])

function dropOldest(map: Map<string, unknown>): void {
  const oldest = map.keys().next()
  if (!oldest.done) map.delete(oldest.value)
}
