import {
  defaultBaseUrl,
  rootUrl,
  trimBaseUrl,
  upstreamUrl,
} from '../../../contract/channel-types.ts'
import { AppError } from '../../app-error.ts'
import type { Egress } from '../../egress/egress.ts'
import { callHttp, HttpCallFailed, jsonMembers, type HttpCall } from '../../egress/http-call.ts'
import { parseConfigObject } from '../channel-config.ts'
import { overriddenHeaders, overridesOf } from '../overrides.ts'
import { withoutChannelSecrets } from '../secrets.ts'
import type { ChannelState } from '../channel.ts'

/** Columns of a channel that determine its upstream and account. */
export type AskedChannel = Pick<ChannelState, 'type' | 'key' | 'base_url' | 'config'>

/** A small request to an upstream, other than relayed calls. */
export interface UpstreamQuestion {
  url: string
  headers: Record<string, string>
}

/** Sends the request and returns the members of the JSON response. Throws if it failed. */
export type AskUpstream = (question: UpstreamQuestion) => Promise<Record<string, unknown>>

const TIMEOUT_MS = 10_000
const HTTP_OK = 200
/** Maximum number of characters of the upstream's message that are passed on. */
const DETAIL_MAX = 200

/** `bytesMax`: maximum size of the response. */
export function createAskUpstream(
  egress: Egress,
  channel: AskedChannel,
  bytesMax: number,
): AskUpstream {
  return async ({ url, headers }) => {
    const overrides = overridesOf(parseConfigObject(channel.config) ?? {})
    const { proxy } = overrides
    const asked = { accept: 'application/json', 'user-agent': 'Gatehouse', ...headers }
    const call: HttpCall = {
      ...(proxy === undefined ? {} : { proxy }),
      url,
      method: 'GET',
      headers: overriddenHeaders(asked, overrides, channel.key),
      timeoutMs: TIMEOUT_MS,
      bytesMax,
    }
    const { status, text } = await callHttp(egress, call)
      .catch((error: unknown) => {
        // Retries, because the upstream may have closed an idle connection at the same time.
        if (!isUnreachable(error)) throw error
        return callHttp(egress, call)
      })
      .catch((error: unknown) => {
        throw error instanceof HttpCallFailed ? new AppError(REFUSALS[error.reason]) : error
      })
    const members = jsonMembers(text) ?? listMembers(text)
    if (status !== HTTP_OK) {
      const detail = upstreamWords(members, channel)
      throw detail === ''
        ? new AppError('upstream_status', { status })
        : new AppError('channel_upstream_said', { status, detail })
    }
    if (members === null) throw new AppError('upstream_answer_invalid')
    return members
  }
}

/** Wraps a plain list, as together.ai and DeepL return it. */
function listMembers(text: string): Record<string, unknown> | null {
  return text.trimStart().startsWith('[') ? jsonMembers(`{"data":${text}}`) : null
}

const isUnreachable = (error: unknown): boolean =>
  error instanceof HttpCallFailed && error.reason === 'unreachable'

const REFUSALS = {
  refused: 'upstream_unreachable',
  unreachable: 'upstream_unreachable',
  timeout: 'upstream_timeout',
  too_large: 'upstream_answer_invalid',
} as const

/** Returns the upstream's error message without keys and addresses. */
function upstreamWords(members: Record<string, unknown> | null, channel: AskedChannel): string {
  const { error, errors, message, msg } = members ?? {}
  // Cloudflare returns a list of errors.
  const [listed]: unknown[] = Array.isArray(errors) ? errors : []
  const said = [messageIn(error), messageIn(listed), message, msg].find(
    (words) => typeof words === 'string' && words !== '',
  )
  return withoutChannelSecrets(typeof said === 'string' ? said : '', channel).slice(0, DETAIL_MAX)
}

const messageIn = (error: unknown): unknown =>
  typeof error === 'object' && error !== null ? Reflect.get(error, 'message') : error

/**
 * Returns the address of the channel's upstream without a trailing slash; throws if it is not set.
 */
export function baseUrlOf(channel: AskedChannel): string {
  const { type, key, base_url: own } = channel
  const base = rootUrl(type, trimBaseUrl(own ?? '')) || defaultBaseUrl(type, key)
  if (base === '') throw new AppError('channel_address_missing')
  return base
}

/** Returns a path next to the API's versions: a version at the end of the address is removed. */
export const beside = (base: string, path: string): string =>
  base.replace(/^(\w+:\/\/[^/]+(?:\/.*)?)\/v\d[a-z0-9]*$/i, '$1') + path

/** Returns a path below `/v1` at an upstream with OpenAI's protocol. */
export function belowVersion(channel: AskedChannel, path: string): string {
  const url = upstreamUrl(channel.type, channel.base_url ?? '', path)
  if (url === null) throw new AppError('channel_address_missing')
  return url
}
