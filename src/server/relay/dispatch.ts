import type { IncomingMessage } from 'node:http'
import { AppError } from '../app-error.ts'
import { addressKey } from '../http/client-address.ts'
import { unknownPath } from '../http/console-files.ts'
import { retryAfter } from '../http/rate-limit.ts'
import { PREFLIGHT_HEADERS } from '../http/security-headers.ts'
import { authenticate } from './call/authenticate.ts'
import { beginSpan } from './call/call-span.ts'
import { UNENDED, type Call, type RelayParts } from './call/call.ts'
import { sendError, sendText, sendWhole } from './call/respond/respond.ts'
import { runCall } from './call/run-call.ts'
import { countTokens } from './other-calls/count-tokens-call.ts'
import { sendSubscription, sendUsage } from './other-calls/dashboard-billing.ts'
import { listModels, retrieveModel } from './other-calls/models.ts'
import { relayProxy } from './other-calls/proxy-call.ts'
import { proxyCallOf } from './other-calls/proxy-place.ts'
import { relayStoredResponse, responseCallOf } from './other-calls/stored-response-call.ts'
import { ownError, shown } from './protocols/dialect/relay-error.ts'
import {
  decodedName,
  isKnownButMissing,
  isMissingOfGemini,
  surfaceOf,
} from './surfaces/surfaces.ts'

/** Serves a request by its path. Throws the refusal of a call that gets no response. */
export async function dispatch(parts: RelayParts, call: Call, isClosing: boolean): Promise<void> {
  const method = plainMethod(call.request)
  if (method === 'OPTIONS') {
    sendPreflight(call)
    return
  }
  const asked = method === 'POST' ? surfaceOf(call.path, call.query) : null
  if (asked !== null) {
    const isFree = asked.surface.task === 'countTokens'
    if (!isFree) beginMetered(parts, call)
    if (isClosing) throw new AppError('busy')
    return isFree ? countTokens(parts, call, asked) : runCall(parts, call, asked)
  }
  const target = proxyCallOf(call.request.url ?? '')
  if (target !== null) beginMetered(parts, call)
  if (isClosing) throw new AppError('busy')
  if (target !== null) return relayProxy(parts, call, target)
  const stored = responseCallOf(method, call.path)
  if (stored !== null) return relayStoredResponse(parts, call, stored)
  if (method === 'GET') {
    refuseUpgrade(call)
    const reading = await answerRead(parts, call)
    if (reading) return
  }
  if (isKnownButMissing(method, call.path) || isMissingOfGemini(call.path)) {
    await authenticate(parts, call)
    throw new AppError('not_implemented')
  }
  sendUnknownPath(call)
}

/** From here on, the call is counted and, if configured, traced. */
function beginMetered({ telemetry }: RelayParts, call: Call): void {
  call.end = UNENDED
  if (telemetry !== null) beginSpan(telemetry, call)
}

/** HEAD is handled as GET; Node omits the body. */
const plainMethod = ({ method = 'GET' }: IncomingMessage): string =>
  method === 'HEAD' ? 'GET' : method

/**
 * Refuses a WebSocket upgrade. OpenAI's agent clients try a WebSocket first, and continue over HTTP
 * at this status. Source: Codex, `stream_responses_websocket`.
 */
function refuseUpgrade(call: Call): void {
  if (call.path !== '/v1/responses' || call.request.headers.upgrade === undefined) return
  call.headers.push('Upgrade', 'HTTP/1.1', 'Connection', 'Upgrade')
  throw new AppError('upgrade_unsupported')
}

async function answerRead(parts: RelayParts, call: Call): Promise<boolean> {
  const { path } = call
  const billing = /^(?:\/v1)?\/dashboard\/billing\/(subscription|usage)$/.exec(path)
  if (billing !== null) {
    const { app } = parts
    const limit = app.rateLimits.api
    const address = addressKey(app.addressOf(call.request))
    if (!(await limit.take(address))) {
      sendWhole(call, 429, ['Retry-After', await retryAfter(limit, address)])
      return true
    }
    await (billing[1] === 'usage' ? sendUsage(parts, call) : sendSubscription(parts, call))
    return true
  }
  if (/^\/v1(?:beta|alpha)?\/models$/.test(path)) {
    await listModels(parts, call)
    return true
  }
  const model = /^\/v1(?:beta|alpha)?\/models\/(.+)$/.exec(path)?.[1]
  if (model === undefined) return false
  await retrieveModel(parts, call, decodedName(model))
  return true
}

function sendPreflight(call: Call): void {
  sendWhole(call, 204, Object.entries(PREFLIGHT_HEADERS).flat())
}

function sendUnknownPath(call: Call): void {
  const { request, path } = call
  if (call.dialect === 'openai') {
    sendText(call, 404, JSON.stringify(unknownPath(request)))
    return
  }
  const unknown = new AppError('path_unknown', { method: request.method ?? '', path: shown(path) })
  sendError(call, ownError(unknown, call.language))
}
