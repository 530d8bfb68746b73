import type { ErrorCode } from '../../../contract/errors.ts'
import { isCertainRefusal, isHardRefusal } from '../../channel/channel.ts'
import { PAID_BY_THE_PIECE, type Task } from '../protocols/dialect/provider.ts'
import type { ErrorKind, RelayError } from '../protocols/dialect/relay-error.ts'
import type { UpstreamRequest } from '../transport/upstream-call.ts'
import type { FailedAttempt } from './attempt-outcome.ts'

/**
 * The consequences of a failed attempt: whether another channel is asked, what the failure means
 * for this channel, and which error the client receives. `meaning.ts` interprets an upstream's
 * codes and messages, `kindOf` below classifies its error, and the table of kinds decides the rest.
 */
export interface Verdict {
  /** Another channel may succeed and is asked. */
  retry: boolean
  /** Another key of the same channel may succeed. */
  otherKey: boolean
  /** Counts as a failure of the channel with this model; otherwise the channel is healthy. */
  isTrouble: boolean
  /**
   * The party that must act: the client or the channel's operator; `upstream` if the problem is
   * temporary.
   */
  fault: 'request' | 'channel' | 'upstream'
  /**
   * This server's error that replaces the upstream's for the client; null if it is not replaced.
   */
  told: Extract<
    ErrorCode,
    'channel_account_refused' | 'upstream_request_too_large' | 'upstream_status'
  > | null
}

const request: Verdict = {
  retry: false,
  otherKey: false,
  isTrouble: false,
  fault: 'request',
  told: null,
}
const upstream: Verdict = {
  retry: true,
  otherKey: false,
  isTrouble: true,
  fault: 'upstream',
  told: null,
}

/**
 * The verdict for each kind of upstream error. Described in docs/manual/en/routing.md, "When a call
 * fails".
 */
const VERDICTS: Readonly<Record<ErrorKind, Verdict>> = {
  account: { ...upstream, otherKey: true, fault: 'channel', told: 'channel_account_refused' },
  'no-channel': { ...upstream, fault: 'channel', told: 'channel_account_refused' },
  address: { ...upstream, fault: 'channel', told: 'upstream_status' },
  model: { ...upstream, fault: 'channel' },
  'rate-limit': { ...upstream, otherKey: true },
  'account-limit': {
    ...request,
    retry: true,
    otherKey: true,
    fault: 'channel',
    told: 'upstream_request_too_large',
  },
  elsewhere: { ...request, retry: true, otherKey: true },
  upstream,
  'thought-refused': request,
  'reasoning-missing': request,
  request,
}

/** A connection error, a timeout, or an unreadable response. */
const BROKEN: Verdict = upstream
/** This server ended the call, independent of the channel's health. */
const ENDED: Verdict = { ...request, fault: 'upstream' }

export function verdictOf({ cause, error }: Pick<FailedAttempt, 'cause' | 'error'>): Verdict {
  if (cause === 'status') return verdictOfError(error)
  return cause === 'ended' ? ENDED : BROKEN
}

export const verdictOfError = ({ kind = 'request' }: Pick<RelayError, 'kind'>): Verdict =>
  VERDICTS[kind]

/**
 * Whether the refusal disables the channel or pauses its key: immediately if it names the reason;
 * otherwise after several users or calls have received it.
 */
export function disablingOf({ status, type, code }: RelayError): 'at once' | 'repeated' | 'never' {
  const said = { status, type, code: String(code) }
  if (!isHardRefusal(said)) return 'never'
  return isCertainRefusal(said) ? 'at once' : 'repeated'
}

/** The properties of an upstream's error from which its kind is derived. */
type KnownError = Pick<RelayError, 'status' | 'type' | 'code' | 'message' | 'param'> & {
  /** The error concerns the operator's account, with any status. */
  isOurs: boolean
  /** The request alone exceeds the account's limit per minute. */
  isAboveAccountLimit: boolean
  /** The response comes from a web server without this endpoint. */
  isMisplaced: boolean
}

/** Returns the kind of an upstream's error. The status has already been corrected. */
export function kindOf(error: KnownError): ErrorKind {
  const { status, isOurs, isAboveAccountLimit, isMisplaced } = error
  if (isAboveAccountLimit) return 'account-limit'
  if (liesElsewhere(error)) return 'elsewhere'
  if (isOurs && status >= 500) return 'no-channel'
  if (isOurs || ACCOUNT_STATUSES.has(status) || disablingOf(error) !== 'never') return 'account'
  if (isMisplaced) return 'address'
  if (status === 404 && saysModelMissing(error)) return 'model'
  if (status === 429) return 'rate-limit'
  // A status below 400, such as a redirect, is not a valid error of the upstream's API.
  if (status >= 500 || status < 400) return 'upstream'
  if (status !== 400) return 'request'
  if (THOUGHT_REFUSED.test(error.message)) return 'thought-refused'
  const isReasoningMissing = REASONING_MISSING.test(`${error.message} ${error.param}`)
  return isReasoningMissing ? 'reasoning-missing' : 'request'
}

const ACCOUNT_STATUSES: ReadonlySet<number> = new Set([401, 402, 403])

/** Whether a 404 is about the model and not about the path. */
const saysModelMissing = ({ code, message }: KnownError): boolean =>
  code === 'model_not_found' || /model|模型/i.test(message)

/**
 * Whether the request refers to something of another account: an item of an earlier response, or
 * reasoning that only its organization can decrypt. OpenAI's messages.
 */
const liesElsewhere = ({ status, code, message }: KnownError): boolean =>
  (status === 404 && /^Item with id\b/.test(message)) ||
  (status === 400 && code === 'invalid_encrypted_content')

/**
 * Matches the refusal of returned reasoning because something before it has changed. Claude since
 * Fable 5.1 treats that as another conversation. Every channel would refuse the same request, and
 * none would refuse it without reasoning. Anthropic's `block_binding` would drop the reasoning
 * upstream, but it needs a beta and enables the check for accounts that are exempt without it.
 * Sources: Anthropic's documentation, "Prefix checks on thinking blocks", "Fix a thinking block
 * bound to a different conversation"; Amazon Bedrock user guide, "Preserved thinking".
 */
const THOUGHT_REFUSED =
  /Invalid `(?:signature|data)` in `(?:redacted_)?thinking` block|blocks in the latest assistant message cannot be modified/

/** Messages of DeepSeek, Kimi and (in `param`) MiMo about reasoning that must be sent back. */
const REASONING_MISSING =
  /(?:reasoning_content|\.thinking\b|`thinking`)[^]*must be passed back|reasoning_content is missing/

/** Whether the server lacks the endpoint, as opposed to the model. */
export function lacksAddress({ cause, error }: Pick<FailedAttempt, 'cause' | 'error'>): boolean {
  const { status, kind } = error
  if (cause !== 'status') return false
  if (status === 404) return kind !== 'model' && kind !== 'elsewhere'
  return status === 405 || status === 501
}

/**
 * Whether the model supports this call in the Responses API but not in chat completions: "This
 * model is only supported in v1/responses and not in v1/chat/completions", "To use function tools,
 * use /v1/responses". OpenAI's messages, which other gateways pass on.
 */
export const pointsToResponses = ({ error }: Pick<FailedAttempt, 'error'>): boolean =>
  (error.status === 400 || error.status === 404) && error.message.includes('v1/responses')

/**
 * Whether the upstream may have produced and charged the result although it did not arrive. Images
 * and audio cost as much each time, so no other channel is asked for them. Speech is synthesized
 * while it is streamed: if the connection broke before the first audio, nothing was produced. A
 * call of several requests (`via`) still passes on a finished result.
 */
export const mayHaveBeenCharged = (
  task: Task,
  { cause, error }: Pick<FailedAttempt, 'cause' | 'error'>,
  { via }: Pick<UpstreamRequest, 'via'>,
): boolean =>
  PAID_BY_THE_PIECE.has(task) &&
  (cause === 'timeout' ||
    (cause === 'status' && GAVE_UP_WAITING.has(error.status)) ||
    (error.code === 'upstream_cut' && (task !== 'speech' || via !== undefined)))

/**
 * Statuses of a proxy in front of the upstream that has timed out. Without a credential nothing was
 * requested, and the client receives the same error. 524 is Cloudflare's, after 100 seconds.
 */
const GAVE_UP_WAITING: ReadonlySet<number> = new Set([504, 524])
