import type { Egress } from '../../egress/egress.ts'
import {
  callHttp,
  HttpCallFailed,
  jsonMembers,
  type HttpAnswer,
  type HttpCall,
} from '../../egress/http-call.ts'
import { ExchangeFailure } from './external-provider.ts'

/** Total time limit of one provider request. */
export const PROVIDER_TIMEOUT_MS = 5000
/** Larger than any valid userinfo response. */
const ANSWER_BYTES_MAX = 256 * 1024
const HTTP_SERVER_FAULT = 500

export type ProviderCall = Pick<HttpCall, 'method' | 'url' | 'headers' | 'body'>

/**
 * Sends one request to a provider, limited in time and size, without retry. Throws
 * `ExchangeFailure`: `unreachable` without a response or for a server error, `unclear` if the
 * response is too large.
 */
export async function callProvider(egress: Egress, call: ProviderCall): Promise<HttpAnswer> {
  const bounds = { timeoutMs: PROVIDER_TIMEOUT_MS, bytesMax: ANSWER_BYTES_MAX }
  const headers = { accept: 'application/json', 'user-agent': 'gatehouse', ...call.headers }
  try {
    const answer = await callHttp(egress, { ...call, headers, ...bounds })
    if (answer.status >= HTTP_SERVER_FAULT) {
      throw new ExchangeFailure('unreachable', `status ${answer.status}`)
    }
    return answer
  } catch (error) {
    if (error instanceof HttpCallFailed) throw new ExchangeFailure(FAILURES[error.reason], error)
    throw error
  }
}

const FAILURES = {
  refused: 'refused',
  unreachable: 'unreachable',
  timeout: 'unreachable',
  too_large: 'unclear',
} as const satisfies Record<HttpCallFailed['reason'], ExchangeFailure['reason']>

/** Sends a request whose response must be a JSON object with a success status. */
export async function callForObject(
  egress: Egress,
  call: ProviderCall,
): Promise<Record<string, unknown>> {
  const answer = await callProvider(egress, call)
  const isSuccess = answer.status >= 200 && answer.status < 300
  if (!isSuccess) throw new ExchangeFailure('refused', `status ${answer.status}`)
  const members = jsonMembers(answer.text)
  if (members === null) throw new ExchangeFailure('unclear', 'the response is not a JSON object')
  return members
}
