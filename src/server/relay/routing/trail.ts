import type { RouteAttempt, RouteState, RouteTrace } from '../../../contract/route-api.ts'
import { keyTail } from '../../../contract/channel-keys.ts'
import { isWell, type AttemptOutcome, type FailedAttempt } from '../errors/attempt-outcome.ts'
import type { RelayError } from '../protocols/dialect/relay-error.ts'
import type { RoutableChannel } from './choose-channel.ts'

/**
 * Records the routing events of a call. Most calls have no trail: it is created only if the first
 * choice does not simply respond. It contains no request or response content except the messages of
 * upstreams that refused the call.
 */
export class Trail {
  /** Keys that the call has used, of channels that have several. */
  readonly usedKeys: RoutableChannel[] = []
  readonly attempts: RouteAttempt[] = []
  readonly skipped = new Map<number, Skipped>()
  outcome: RouteTrace['outcome']

  constructor(outcome: RouteTrace['outcome'] = 'failed') {
    this.outcome = outcome
  }

  /**
   * Records a skipped channel: because of its health, with the seconds to wait, or for another
   * reason.
   */
  skip(channel: RoutableChannel, why: number | RouteState): void {
    if (typeof why === 'string') this.skipped.set(channel.id, { state: why, waitSeconds: 0 })
    else this.skipped.set(channel.id, { state: stateOf(channel, why), waitSeconds: why })
  }

  attempt({ channel, outcome, isTrial, stays, elapsedMs }: Attempted): void {
    const { id: channel_id, name, keyId, key } = channel
    const isFailed = outcome.kind === 'failed'
    const error = errorOf(outcome)
    if (outcome.kind === 'answered') this.outcome = 'answered'
    if (keyId !== '') this.usedKeys.push(channel)
    this.attempts.push({
      channel_id,
      name,
      key: keyId === '' ? '' : keyTail(key),
      is_trial: isTrial,
      ...(stays ? { stays } : {}),
      result: isFailed ? outcome.cause : resultOf(outcome),
      status: error?.status ?? 0,
      code: error === null ? '' : codeOf(error),
      ...(isFailed ? wordsOf(outcome.error) : {}),
      ...(error === null ? {} : wordsOf(error)),
      elapsed_ms: Math.max(0, Math.round(elapsedMs)),
    })
  }
}

interface Skipped {
  state: RouteState
  waitSeconds: number
}

interface Attempted {
  channel: RoutableChannel
  outcome: AttemptOutcome
  isTrial: boolean
  /** Whether the channel last served the call's conversation. */
  stays: boolean
  elapsedMs: number
}

function stateOf({ keyed }: RoutableChannel, waitSeconds: number): RouteState {
  if (keyed.length > 0) return 'keys'
  return waitSeconds > 0 ? 'throttled' : 'circuit'
}

const resultOf = (outcome: Exclude<AttemptOutcome, FailedAttempt>) =>
  outcome.kind === 'abandoned' ? 'abandoned' : isWell(outcome) ? 'answered' : 'broken'

/** Maximum stored characters of an upstream's error code. */
const CODE_MAX = 100

const codeOf = ({ code, type }: RelayError): string => (String(code) || type).slice(0, CODE_MAX)

/** Returns the upstream's own error: its refusal, or the one in the middle of its response. */
function errorOf(outcome: AttemptOutcome): RelayError | null {
  if (outcome.kind === 'failed') return outcome.cause === 'status' ? outcome.error : null
  return outcome.kind === 'answered' ? (outcome.said ?? null) : null
}

/** Maximum stored characters of an upstream's message. */
const WORDS_MAX = 500

const wordsOf = ({ ownWords = '' }: RelayError) =>
  ownWords === '' ? {} : { message: ownWords.slice(0, WORDS_MAX) }

/** Returns the call's trail and creates it if missing. */
export const trailOf = (call: { trail: Trail | null }): Trail => (call.trail ??= new Trail())
