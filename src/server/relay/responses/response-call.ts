import { AppError } from '../../app-error.ts'
import type { ProviderCall } from '../dialect/provider.ts'
import { providerOf } from '../dialect/provider.ts'
import {
  credentialOf,
  sendError,
  writeHead,
  type RelayCall,
  type RelayParts,
} from '../relay-call.ts'
import { ownError } from '../relay-error.ts'
import { refusePin } from '../routing/caller.ts'
import type { RoutableChannel } from '../routing/choose-channel.ts'
import { withKey } from '../routing/route.ts'
import { failedAttempt } from '../attempt.ts'
import { decodedBody, fetchWhole, refusedAnswer } from '../whole-answer.ts'
import { deleteResponse } from './response-store.ts'
import { knownResponse } from './stored-responses.ts'

/** Looking at, deleting and breaking off a stored response: nothing of it costs anything. */
export interface ResponseCall {
  responseId: string
  /** Behind the response: '', `/input_items` or `/cancel`. */
  rest: string
}

const PATH = /^\/v1\/responses\/([^/]+)(|\/input_items|\/cancel)$/

/** Null: no such call. */
export function responseCallOf(method: string, path: string): ResponseCall | null {
  const [, responseId, rest = ''] = PATH.exec(path) ?? []
  if (responseId === undefined) return null
  const isFine =
    rest === '/cancel'
      ? method === 'POST'
      : method === 'GET' || (method === 'DELETE' && rest === '')
  return isFine ? { responseId, rest } : null
}

/** Query members that go on to the upstream. A stream of an old answer is not among them. */
const QUERY = ['include', 'include[]', 'after', 'before', 'limit', 'order'] as const

export async function relayStoredResponse(
  parts: RelayParts,
  call: RelayCall,
  { responseId, rest }: ResponseCall,
): Promise<void> {
  const { app } = parts
  const address = (): string => app.addressOf(call.request)
  const caller = await parts.callers.authenticate(credentialOf(call), address)
  call.caller = caller
  refusePin(caller)
  if (call.query.get('stream') === 'true')
    throw new AppError('relay_field_unsupported', { field: 'stream' })
  const known = await knownResponse(parts, caller, responseId)
  const found = (await parts.channels.current()).find(known.channel_id)
  const channel = found && withKey(found, known.key_id)
  const url = channel?.isEnabled === true ? urlOf(parts, call, channel, known.model) : null
  if (channel === undefined || url === null)
    throw new AppError('response_unknown', { id: responseId })
  const method =
    call.request.method === 'DELETE' ? 'DELETE' : call.request.method === 'POST' ? 'POST' : 'GET'
  const answer = await fetchWhole(parts, call, {
    url: `${url.path}/${responseId}${rest}${queryOf(call, url.query)}`,
    method,
    headers: { accept: 'application/json', 'accept-encoding': 'identity', ...url.headers },
    body: null,
    firstByteTimeoutMs: app.config.RELAY_FIRST_BYTE_TIMEOUT * 1000,
    idleTimeoutMs: app.config.RELAY_IDLE_TIMEOUT * 1000,
  })
  if (call.isGone) return
  if (typeof answer === 'string') {
    const failed = failedAttempt(call.language, answer)
    if (failed.kind === 'failed') sendError(call, failed.error)
    return
  }
  if (answer.status < 200 || answer.status >= 300) {
    const refused = await refusedAnswer(call, { channel }, answer)
    if (refused.kind === 'failed') sendError(call, refused.error)
    return
  }
  const body = await decodedBody(answer)
  if (body === null) {
    sendError(call, ownError(new AppError('upstream_answer_invalid'), call.language))
    return
  }
  if (method === 'DELETE') {
    await deleteResponse(app.database.write, { userId: caller.user.id, responseId })
  }
  const type = answer.headers['content-type']
  writeHead(call, 200, [
    'Content-Type',
    typeof type === 'string' ? type : 'application/json',
    'Content-Length',
    String(body.length),
  ])
  call.response.end(body)
}

interface UpstreamPlace {
  path: string
  query: string
  headers: Record<string, string>
}

/** Whether the channel keeps responses, so that one can be gone on from. */
export const keepsResponses = (
  parts: RelayParts,
  call: RelayCall,
  channel: RoutableChannel,
  model: string,
): boolean => !parts.chatOnly.has(channel, model) && urlOf(parts, call, channel, model) !== null

/** Where the channel keeps its responses. */
function urlOf(
  { app }: RelayParts,
  call: RelayCall,
  channel: RoutableChannel,
  model: string,
): UpstreamPlace | null {
  const provider = providerOf(channel.type)
  const to: ProviderCall = {
    task: 'responses',
    model: channel.modelMapping.get(model) ?? model,
    isStream: false,
    clientQuery: call.query,
    clientHeaders: call.request.headers,
    ownAddress: app.options.text('ServerAddress'),
  }
  const url = provider?.url(channel, to) ?? null
  if (provider === null || url === null) return null
  const [path = '', query = ''] = url.split('?')
  return { path, query, headers: provider.headers(channel, to) }
}

function queryOf(call: RelayCall, own: string): string {
  const query = new URLSearchParams(own)
  for (const name of QUERY) {
    for (const value of call.query.getAll(name)) query.append(name, value)
  }
  const text = query.toString()
  return text === '' ? '' : `?${text}`
}
