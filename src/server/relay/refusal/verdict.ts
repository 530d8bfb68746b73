import { isHardRefusal } from '../../channel/channel.ts'
import type { RelayError } from '../dialect/relay-error.ts'

/**
 * What is done about an upstream's error, after `upstream-error.ts` has read it and
 * `vendor-refusals.ts` has put its status right: whether another channel is asked, and whose fault
 * it is. Whether the channel is disabled is decided by `channel.ts`, for tests of channels too.
 */

/** Whether another channel may do better after this error of an upstream. */
export function mayRetry(error: RelayError): boolean {
  const { status } = error
  if (error.retry !== undefined || liesElsewhere(error)) return true
  if (status === 401 || status === 402 || status === 403 || status === 429) return true
  return status >= 500 || saysModelMissing(error)
}

/** Whether another account may serve the request, although nothing is wrong with this channel. */
export const isServedElsewhere = (
  error: Pick<RelayError, 'status' | 'code' | 'message' | 'retry'>,
): boolean => error.retry === 'elsewhere' || liesElsewhere(error)

/** Whether the upstream refuses the channel's key or account, whatever is asked. */
export const isAboutAccount = ({ status, type, code }: RelayError): boolean =>
  status === 401 ||
  status === 402 ||
  status === 403 ||
  isHardRefusal({ status, type, code: String(code) })

/**
 * Whose fault an error of an upstream is: the client's request; the channel's key, account, models
 * or address, which its operator must put right; or the upstream's own trouble, which passes.
 */
export type Fault = 'request' | 'channel' | 'upstream'

export function faultOf(error: RelayError): Fault {
  if (error.told !== undefined || saysModelMissing(error)) return 'channel'
  return mayRetry(error) && !liesElsewhere(error) ? 'upstream' : 'request'
}

/** A 404 that is about the model and not about the path. */
export const saysModelMissing = (error: RelayError): boolean =>
  error.status === 404 && (error.code === 'model_not_found' || /model|模型/i.test(error.message))

/**
 * What the request goes on from lies with another account: an item of an earlier response, or a
 * thought that only its organization can read. It says nothing about the channel. OpenAI's words.
 */
export const liesElsewhere = ({
  status,
  code,
  message,
}: Pick<RelayError, 'status' | 'code' | 'message'>): boolean =>
  (status === 404 && /^Item with id\b/.test(message)) ||
  (status === 400 && code === 'invalid_encrypted_content')

/**
 * A thought that came back is not taken, because something before it has changed, which makes
 * another conversation of it to Claude since Fable 5.1. Asking again helps with nobody, asking
 * without any thought with everybody. Anthropic's `block_binding` would have the thoughts dropped
 * there; but it needs a beta, and has those accounts checked that are spared without it. Sources:
 * Anthropic's documentation, "Prefix checks on thinking blocks", "Fix a thinking block bound to a
 * different conversation"; Amazon Bedrock user guide, "Preserved thinking". Anthropic's words.
 */
export const isThoughtRefused = ({
  status,
  message,
}: Pick<RelayError, 'status' | 'message'>): boolean => status === 400 && THOUGHT.test(message)

const THOUGHT =
  /Invalid `(?:signature|data)` in `(?:redacted_)?thinking` block|blocks in the latest assistant message cannot be modified/

/**
 * Reasoning of an earlier turn must come back and did not: asking again with some, or without
 * thinking, helps. The words of DeepSeek, Kimi and, in `param`, of MiMo.
 */
export const isReasoningMissing = ({
  status,
  message,
  param,
}: Pick<RelayError, 'status' | 'message' | 'param'>): boolean =>
  status === 400 && REASONING_MISSING.test(`${message} ${param}`)

const REASONING_MISSING =
  /(?:reasoning_content|\.thinking\b|`thinking`)[^]*must be passed back|reasoning_content is missing/
