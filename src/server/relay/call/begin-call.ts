import type { IncomingMessage, ServerResponse } from 'node:http'
import { namedLanguage, type Language } from '../../../contract/errors.ts'
import type { App } from '../../app.ts'
import { AppError } from '../../app-error.ts'
import { unescapedPath } from '../../http/request-head.ts'
import { newRequestId, REQUEST_ID_HEADER } from '../../http/request-id.ts'
import { RELAY_POLICY } from '../../http/security-headers.ts'
import type { RestLimits } from '../../http/unread-body.ts'
import type { BreakReason } from '../errors/attempt-outcome.ts'
import type { DialectName } from '../protocols/canonical/chat-request.ts'
import { ownError } from '../protocols/dialect/relay-error.ts'
import { plainPath } from '../relay-path.ts'
import { dialectOfPath } from '../surfaces/surfaces.ts'
import { Call, refuseCall } from './call.ts'
import { sendError } from './respond/respond.ts'

/**
 * Headers of every response. The body is an upstream's, and a form on a foreign site can post here
 * and have the response shown as a page of this origin: hence the content security policy.
 */
const COMMON_HEADERS = [
  'Access-Control-Allow-Origin',
  '*',
  'Access-Control-Expose-Headers',
  [
    'X-Oneapi-Request-Id, X-Gatehouse-Quota, X-Gatehouse-Quota-Remaining, X-Gatehouse-Overhead-Ms',
    'X-Gatehouse-Channel, X-Gatehouse-Output-Limit, X-Gatehouse-Dropped, X-Gatehouse-Adjusted',
    'Request-Id, X-Request-Id, Retry-After, X-Should-Retry',
  ].join(', '),
  'Content-Security-Policy',
  RELAY_POLICY,
  'X-Content-Type-Options',
  'nosniff',
]
/** The header in which the clients of a dialect look for the id of their call. */
const ID_HEADERS: Record<DialectName, string | null> = {
  openai: 'X-Request-Id',
  anthropic: 'Request-Id',
  gemini: null,
}

/** Begins a call with the contents of its HTTP request. */
export function beginCall(
  app: App,
  request: IncomingMessage,
  response: ServerResponse,
  restLimits: RestLimits,
): Call {
  const url = request.url ?? '/'
  const query = url.indexOf('?')
  const path = plainPath(unescapedPath(query < 0 ? url : url.slice(0, query)))
  const requestId = newRequestId(app.clock.nowMs())
  const dialect = dialectOfPath(path)
  // The vendors' own clients show users the id from a header of their own.
  const named = ID_HEADERS[dialect]
  const ids = named === null ? [] : [named, requestId]
  return new Call(
    {
      request,
      response,
      restLimits,
      requestId,
      headers: [REQUEST_ID_HEADER, requestId, ...ids, ...COMMON_HEADERS],
      language: namedLanguage(request.headers['accept-language']) ?? defaultLanguage(app),
      path,
      query: query < 0 ? NO_QUERY : new URLSearchParams(url.slice(query + 1)),
      dialect,
      startedMs: app.clock.monotonicMs(),
    },
    refuseUnsent,
  )
}

/** Sets how a call ends early before an upstream request is running. */
function refuseUnsent(call: Call, reason: BreakReason): void {
  // The stages that are still running must not send a response.
  call.isGone = true
  refuseCall(call, reason)
  call.headers.push('Connection', 'close')
  sendError(call, ownError(new AppError(reason), call.language))
}

const defaultLanguage = ({ options }: App): Language =>
  options.text('DefaultLanguage') === 'en' ? 'en' : 'zh'

const NO_QUERY = new URLSearchParams()
