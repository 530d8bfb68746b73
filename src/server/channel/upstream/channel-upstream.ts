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

/** The columns of a channel that say where its upstream is and who asks. */
export type AskedChannel = Pick<ChannelState, 'type' | 'key' | 'base_url' | 'config'>

/** A small question to an upstream, beside the calls that are relayed. */
export interface UpstreamQuestion {
  url: string
  headers: Record<string, string>
}

/** Answers the members of the upstream's JSON object. Throws the refusal that says what went wrong. */
export type AskUpstream = (question: UpstreamQuestion) => Promise<Record<string, unknown>>

const TIMEOUT_MS = 10_000
const HTTP_OK = 200
/** Characters of the upstream's own words that are passed on. */
const DETAIL_MAX = 200

/** `bytesMax`: longest answer that is read. */
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
        // The other side may have closed a connection that was kept open just as we asked.
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

/** A bare list as others wrap it: together.ai and DeepL answer so. */
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

/** What the upstream said of its refusal, without what it must not tell: keys and addresses. */
function upstreamWords(members: Record<string, unknown> | null, channel: AskedChannel): string {
  const { error, errors, message, msg } = members ?? {}
  // Cloudflare lists what is wrong.
  const [listed]: unknown[] = Array.isArray(errors) ? errors : []
  const said = [messageIn(error), messageIn(listed), message, msg].find(
    (words) => typeof words === 'string' && words !== '',
  )
  return withoutChannelSecrets(typeof said === 'string' ? said : '', channel).slice(0, DETAIL_MAX)
}

const messageIn = (error: unknown): unknown =>
  typeof error === 'object' && error !== null ? Reflect.get(error, 'message') : error

/** Where the channel's calls go, without a slash at the end; throws when nobody has said it. */
export function baseUrlOf(channel: AskedChannel): string {
  const { type, key, base_url: own } = channel
  const base = rootUrl(type, trimBaseUrl(own ?? '')) || defaultBaseUrl(type, key)
  if (base === '') throw new AppError('channel_address_missing')
  return base
}

/** A path beside the versions of the API: an address that ends in one is cut there. */
export const beside = (base: string, path: string): string =>
  base.replace(/^(\w+:\/\/[^/]+(?:\/.*)?)\/v\d[a-z0-9]*$/i, '$1') + path

/** A path below `/v1` at an upstream that speaks the OpenAI protocol. */
export function belowVersion(channel: AskedChannel, path: string): string {
  const url = upstreamUrl(channel.type, channel.base_url ?? '', path)
  if (url === null) throw new AppError('channel_address_missing')
  return url
}
