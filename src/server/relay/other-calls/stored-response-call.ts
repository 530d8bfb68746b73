import { authenticate } from '../call/authenticate.ts'
import { sendError, sendWhole, NOT_STORED, isGood } from '../call/respond/respond.ts'
import type { RelayParts, Call } from '../call/call.ts'
import { refusePin } from '../routing/caller.ts'
import { withKey } from '../call/route.ts'
import { AppError } from '../../app-error.ts'
import { readyToSend } from '../protocols/dialect/provider.ts'
import { failedAttempt } from '../errors/attempt-outcome.ts'
import { LARGE_ANSWER_BYTES_MAX } from '../call/respond/answer-room.ts'
import { decodedBody } from '../transport/decoded-body.ts'
import { fetchWhole, refusedAnswer } from '../call/respond/respond-whole.ts'
import { silenceLimits } from '../transport/upstream-call.ts'
import type { UpstreamRequest } from '../transport/upstream-call.ts'
import { deleteResponse } from '../call/response-store.ts'
import { knownResponse, homeOf, type ResponseHome } from '../call/stored-responses.ts'

/** Retrieves, deletes or cancels a stored response, free of charge. */
export interface ResponseCall {
  method: (typeof METHODS)[number]
  responseId: string
  /** The path after the response id: '', `/input_items` or `/cancel`. */
  rest: string
}

const METHODS = ['GET', 'POST', 'DELETE'] as const

const PATH = /^\/v1\/responses\/([^/]+)(|\/input_items|\/cancel)$/

/** Parses the call; returns null if the path does not match. */
export function responseCallOf(asked: string, path: string): ResponseCall | null {
  const [, responseId, rest = ''] = PATH.exec(path) ?? []
  const method = METHODS.find((name) => name === asked)
  if (responseId === undefined || method === undefined) return null
  const isFine =
    rest === '/cancel'
      ? method === 'POST'
      : method === 'GET' || (method === 'DELETE' && rest === '')
  return isFine ? { method, responseId, rest } : null
}

/** Query parameters that are passed on. Streaming a stored response is not supported. */
const QUERY = ['include', 'include[]', 'after', 'before', 'limit', 'order'] as const

export async function relayStoredResponse(
  parts: RelayParts,
  call: Call,
  asked: ResponseCall,
): Promise<void> {
  const { app } = parts
  const { method, responseId } = asked
  const caller = await authenticate(parts, call)
  refusePin(caller)
  if (call.query.get('stream') === 'true')
    throw new AppError('relay_field_unsupported', { field: 'stream' })
  const known = await knownResponse(parts, caller, responseId)
  const found = (await parts.channels.current()).find(known.channel_id)
  const channel = found && withKey(found, known.key_id)
  const home = channel?.isEnabled === true ? homeOf(parts, call, channel, known.model) : null
  if (home === null) throw new AppError('response_unknown', { id: responseId })
  const answer = await fetchWhole(parts, call, {
    request: requestFor(parts, call, asked, home),
    channelId: home.channel.id,
    // A stored response may contain images.
    bytesMax: () => LARGE_ANSWER_BYTES_MAX,
  })
  if (call.isGone) return
  if (typeof answer === 'string') {
    sendError(call, failedAttempt(call.language, answer).error)
    return
  }
  if (!isGood(answer.status)) {
    sendError(call, (await refusedAnswer(call, answer, home.channel)).error)
    return
  }
  const body = await decodedBody(answer)
  if (typeof body === 'string') {
    sendError(call, failedAttempt(call.language, body).error)
    return
  }
  if (method === 'DELETE') {
    await deleteResponse(app.database.write, { userId: caller.user.id, responseId })
  }
  const type = answer.headers['content-type']
  sendWhole(
    call,
    200,
    [
      'Content-Type',
      typeof type === 'string' ? type : 'application/json',
      'Content-Length',
      String(body.length),
      ...NOT_STORED,
    ],
    body,
  )
}

function requestFor(
  { app }: RelayParts,
  call: Call,
  { method, responseId, rest }: ResponseCall,
  { channel, provider, to, url }: ResponseHome,
): UpstreamRequest {
  const [path = '', query = ''] = url.split('?')
  const request: UpstreamRequest = {
    url: `${path}/${responseId}${rest}${queryOf(call, query)}`,
    method,
    headers: {
      accept: 'application/json',
      'accept-encoding': 'identity',
      ...provider.headers(channel, to),
    },
    body: null,
    // The response already exists.
    ...silenceLimits(app.config, { isWhole: false }),
  }
  return readyToSend(provider, { channel, to }, request, app.clock)
}

function queryOf(call: Call, own: string): string {
  const query = new URLSearchParams(own)
  for (const name of QUERY) {
    for (const value of call.query.getAll(name)) query.append(name, value)
  }
  const text = query.toString()
  return text === '' ? '' : `?${text}`
}
