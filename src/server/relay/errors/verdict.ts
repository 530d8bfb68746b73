import type { ErrorCode } from '../../../contract/errors.ts'
import { isCertainRefusal, isHardRefusal } from '../../channel/channel.ts'
import { PAID_BY_THE_PIECE, type Task } from '../dialect/provider.ts'
import type { ErrorKind, RelayError } from '../dialect/relay-error.ts'
import type { UpstreamRequest } from '../transport/upstream-call.ts'
import type { FailedAttempt } from './attempt-outcome.ts'

/**
 * What follows from a failed attempt: whether another channel is asked, what it says of this one,
 * and whose words the client gets. `meaning.ts` finds out what an upstream means by its codes and
 * sentences, `kindOf` below what its error is about, and the table of kinds decides the rest.
 */
export interface Verdict {
  /** Another channel may do better, and is asked. */
  retry: boolean
  /** Another key of the same channel may do better. */
  otherKey: boolean
  /** It counts as a failure of the channel with this model. Otherwise it shows that it is well. */
  isTrouble: boolean
  /** Who must act: the client, the channel's operator, or nobody because it passes. */
  fault: 'request' | 'channel' | 'upstream'
  /** Our refusal that the client gets in place of the upstream's error; null: the error itself. */
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
 * By what an upstream's error is about. The same in words: docs/manual/en/routing.md, "When a call
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

/** The connection, silence, or an answer that cannot be read. */
const BROKEN: Verdict = upstream
/** We ended the call ourselves: that says nothing about the channel. */
const ENDED: Verdict = { ...request, fault: 'upstream' }

export function verdictOf({ cause, error }: Pick<FailedAttempt, 'cause' | 'error'>): Verdict {
  if (cause === 'status') return verdictOfError(error)
  return cause === 'ended' ? ENDED : BROKEN
}

export const verdictOfError = ({ kind = 'request' }: Pick<RelayError, 'kind'>): Verdict =>
  VERDICTS[kind]

/**
 * Whether the refusal disables the channel or pauses its key: at once if it names the reason, after
 * several users or calls have met it if it does not.
 */
export function disablingOf({ status, type, code }: RelayError): 'at once' | 'repeated' | 'never' {
  const said = { status, type, code: String(code) }
  if (!isHardRefusal(said)) return 'never'
  return isCertainRefusal(said) ? 'at once' : 'repeated'
}

/** What is known of an upstream's error when its kind is decided. */
type KnownError = Pick<RelayError, 'status' | 'type' | 'code' | 'message' | 'param'> & {
  /** It speaks of its operator's account, whatever its status. */
  isOurs: boolean
  /** The request alone exceeds what the account may send in a minute. */
  isAboveAccountLimit: boolean
  /** It is that of a web server which has no such address. */
  isMisplaced: boolean
}

/** What an upstream's error is about. The status has been put right before. */
export function kindOf(error: KnownError): ErrorKind {
  const { status, isOurs, isAboveAccountLimit, isMisplaced } = error
  if (isAboveAccountLimit) return 'account-limit'
  if (liesElsewhere(error)) return 'elsewhere'
  if (isOurs && status >= 500) return 'no-channel'
  if (isOurs || ACCOUNT_STATUSES.has(status) || disablingOf(error) !== 'never') return 'account'
  if (isMisplaced) return 'address'
  if (status === 404 && saysModelMissing(error)) return 'model'
  if (status === 429) return 'rate-limit'
  // What is no error, such as a redirect, is no answer to a call.
  if (status >= 500 || status < 400) return 'upstream'
  if (status !== 400) return 'request'
  if (THOUGHT_REFUSED.test(error.message)) return 'thought-refused'
  const isReasoningMissing = REASONING_MISSING.test(`${error.message} ${error.param}`)
  return isReasoningMissing ? 'reasoning-missing' : 'request'
}

const ACCOUNT_STATUSES: ReadonlySet<number> = new Set([401, 402, 403])

/** A 404 that is about the model and not about the path. */
const saysModelMissing = ({ code, message }: KnownError): boolean =>
  code === 'model_not_found' || /model|模型/i.test(message)

/**
 * What the request goes on from lies with another account: an item of an earlier response, or a
 * thought that only its organization can read. OpenAI's words.
 */
const liesElsewhere = ({ status, code, message }: KnownError): boolean =>
  (status === 404 && /^Item with id\b/.test(message)) ||
  (status === 400 && code === 'invalid_encrypted_content')

/**
 * A thought that came back is refused because something before it has changed, which makes another
 * conversation of it to Claude since Fable 5.1. Every channel would refuse it, and none the same
 * request without thoughts. Anthropic's `block_binding` would drop the thoughts there, but it needs
 * a beta and has accounts checked that are spared without it. Sources: Anthropic's documentation,
 * "Prefix checks on thinking blocks", "Fix a thinking block bound to a different conversation";
 * Amazon Bedrock user guide, "Preserved thinking".
 */
const THOUGHT_REFUSED =
  /Invalid `(?:signature|data)` in `(?:redacted_)?thinking` block|blocks in the latest assistant message cannot be modified/

/** The words of DeepSeek, Kimi and, in `param`, of MiMo for reasoning that must come back. */
const REASONING_MISSING =
  /(?:reasoning_content|\.thinking\b|`thinking`)[^]*must be passed back|reasoning_content is missing/

/** The server has no such address: not that it has no such model. */
export function lacksAddress({ cause, error }: Pick<FailedAttempt, 'cause' | 'error'>): boolean {
  const { status, kind } = error
  if (cause !== 'status') return false
  if (status === 404) return kind !== 'model' && kind !== 'elsewhere'
  return status === 405 || status === 501
}

/**
 * The model takes this call by the Responses API and not by chat: "This model is only supported in
 * v1/responses and not in v1/chat/completions", "To use function tools, use /v1/responses".
 * OpenAI's words, which other gateways pass on.
 */
export const pointsToResponses = ({ error }: Pick<FailedAttempt, 'error'>): boolean =>
  (error.status === 400 || error.status === 404) && error.message.includes('v1/responses')

/**
 * Whether what was asked for may have been made and charged although it did not come: pictures and
 * recordings cost as much each time, so no other channel is asked for them. Speech is made while it
 * is heard: where it broke off before that, there is none. But a call of several requests (`via`)
 * passes on what is whole.
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
 * By a server in front of the upstream, which has answered: without a credential nothing was asked,
 * and the client is told the same. The second is Cloudflare's, after 100 seconds.
 */
const GAVE_UP_WAITING: ReadonlySet<number> = new Set([504, 524])
