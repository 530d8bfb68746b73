import net from 'node:net'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { errorText, languageOf } from '../../contract/errors.ts'
import type { Config } from '../config.ts'
import { isTrustedProxy, plainAddress, type TrustedProxies } from './client-address.ts'

/**
 * Which requests come from this machine itself, and which host names the server answers to.
 *
 * A page of another site can point its own name at 127.0.0.1 (DNS rebinding); the browser then
 * takes a loopback server for a part of that site. Only the `Host` header gives such a request
 * away, because a page can neither change it nor leave it out.
 */

/** Headers that proxies and content delivery networks add to a request that they pass on. */
const FORWARDING_HEADERS = [
  'x-forwarded-for',
  'x-forwarded-proto',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-server',
  'x-real-ip',
  'forwarded',
  'via',
  'x-client-ip',
  'x-cluster-client-ip',
  'true-client-ip',
  'cf-connecting-ip',
  'cdn-loop',
] as const

/** Whether a request names itself as passed on by a proxy. */
const isForwarded = (headers: IncomingHttpHeaders): boolean =>
  FORWARDING_HEADERS.some((name) => headers[name] !== undefined)

/** The host of a `Host` header in lower case, without port and brackets; null if it is not one. */
export function hostNameOf(header: string): string | null {
  const url = /[/?#@\\]/.test(header) ? null : URL.parse(`http://${header}`)
  return url?.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '') ?? null
}

/** Whether a name, as `hostNameOf` returns it, is one that leads to the caller's own machine. */
export const isLoopbackName = (name: string): boolean =>
  name === 'localhost' || name.endsWith('.localhost') || isLoopbackAddress(name)

const isLoopbackAddress = (address: string): boolean =>
  address === '::1' || (net.isIPv4(address) && address.startsWith('127.'))

/** Whether the server listens on loopback only. */
export const listensOnLoopback = ({ HOST }: Pick<Config, 'HOST'>): boolean =>
  isLoopbackName(HOST.toLowerCase())

/** Whether an absolute URL leads to the caller's own machine. */
export const isLoopbackUrl = (url: string): boolean =>
  URL.canParse(url) && isLoopbackName(hostNameOf(new URL(url).host) ?? '')

/**
 * Whether a program on this machine sent the request itself: the peer and the `Host` are loopback
 * and nothing names a proxy. HTTP/1.0 counts as a proxy, because nginx speaks it to upstreams by
 * default and no browser does.
 */
export const isDirect = (request: IncomingMessage): boolean =>
  isLoopbackAddress(plainAddress(request.socket.remoteAddress)) &&
  isLoopbackName(hostNameOf(request.headers.host ?? '') ?? '') &&
  request.httpVersion !== '1.0' &&
  !isForwarded(request.headers)

export interface HostSettings {
  config: Pick<Config, 'HOST' | 'CONSOLE_ORIGINS'>
  trusted: TrustedProxies
  /** The option `ServerAddress` as it is now; empty if not set. */
  serverAddress(): string
}

/**
 * Returns the check whether the server answers to the `Host` of a request. On a loopback `HOST` it
 * answers to loopback names, to the hosts of `ServerAddress` and `CONSOLE_ORIGINS`, and to any name
 * that a trusted proxy passes on: the name that the proxy serves was chosen by its operator. On any
 * other `HOST` it answers to every name. A request without `Host` (HTTP/1.0) comes from no browser.
 */
export function createHostCheck({
  config,
  trusted,
  serverAddress,
}: HostSettings): (request: IncomingMessage) => boolean {
  if (!listensOnLoopback(config)) return () => true
  const consoles = new Set(config.CONSOLE_ORIGINS.map((origin) => hostNameOf(new URL(origin).host)))
  const isServerAddress = (name: string): boolean => {
    const address = serverAddress()
    return URL.canParse(address) && hostNameOf(new URL(address).host) === name
  }
  return (request) => {
    const { host = '' } = request.headers
    if (host === '') return true
    const name = hostNameOf(host)
    if (name !== null && (isLoopbackName(name) || consoles.has(name) || isServerAddress(name))) {
      return true
    }
    return isForwarded(request.headers) && isTrustedProxy(request.socket.remoteAddress, trusted)
  }
}

/** Characters of a `Host` header that the refusal repeats. */
const SHOWN_HOST_MAX = 100

/** Refuses a request whose host name the server does not answer to, before its body is read. */
export function refuseHost(request: IncomingMessage, response: ServerResponse): void {
  const { headers, socket } = request
  const message = errorText('host_unknown', languageOf(headers['accept-language']), {
    host: (headers.host ?? '').slice(0, SHOWN_HOST_MAX),
    peer: plainAddress(socket.remoteAddress),
  })
  const isPage = headers.accept?.includes('text/html') === true
  response.writeHead(421, {
    Connection: 'close',
    'Cache-Control': 'no-store',
    'Content-Type': isPage ? 'text/plain; charset=utf-8' : 'application/json; charset=utf-8',
    'X-Content-Type-Options': 'nosniff',
  })
  // Scripts of the management API read `message`, clients of the relay read `error`.
  const error = { message, type: 'invalid_request_error', param: '', code: 'host_unknown' }
  response.end(isPage ? message : JSON.stringify({ success: false, message, error }))
}
