import net from 'node:net'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { errorText, languageOf } from '../../contract/errors.ts'
import type { Config } from '../config.ts'
import { isTrustedProxy, plainAddress, type TrustedProxies } from './client-address.ts'

/**
 * Determines which requests come from this machine itself, and which host names the server accepts.
 *
 * Another site can point its own name at 127.0.0.1 (DNS rebinding), and the browser then treats a
 * loopback server as part of that site. Such a request can only be recognized by its `Host` header,
 * which a page can neither change nor omit.
 */

/** Headers that proxies and CDNs add to forwarded requests. */
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

/** Whether a request has headers of a proxy. */
const isForwarded = (headers: IncomingHttpHeaders): boolean =>
  FORWARDING_HEADERS.some((name) => headers[name] !== undefined)

/**
 * Returns the host of a `Host` header in lower case, without port and brackets, or null if invalid.
 */
export function hostNameOf(header: string): string | null {
  const url = /[/?#@\\]/.test(header) ? null : URL.parse(`http://${header}`)
  return url?.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '') ?? null
}

/** Whether a name from `hostNameOf` refers to the local machine. */
export const isLoopbackName = (name: string): boolean =>
  name === 'localhost' || name.endsWith('.localhost') || isLoopbackAddress(name)

const isLoopbackAddress = (address: string): boolean =>
  address === '::1' || (net.isIPv4(address) && address.startsWith('127.'))

/** Whether the server listens on loopback only. */
export const listensOnLoopback = ({ HOST }: Pick<Config, 'HOST'>): boolean =>
  isLoopbackName(HOST.toLowerCase())

/** Whether an absolute URL refers to the local machine. */
export const isLoopbackUrl = (url: string): boolean =>
  URL.canParse(url) && isLoopbackName(hostNameOf(new URL(url).host) ?? '')

/**
 * Whether a program on this machine sent the request directly: peer and `Host` are loopback, and no
 * header comes from a proxy. HTTP/1.0 counts as a proxy, because nginx uses it for upstreams by
 * default and browsers do not.
 */
export const isDirect = (request: IncomingMessage): boolean =>
  isLoopbackAddress(plainAddress(request.socket.remoteAddress)) &&
  isLoopbackName(hostNameOf(request.headers.host ?? '') ?? '') &&
  request.httpVersion !== '1.0' &&
  !isForwarded(request.headers)

export interface HostSettings {
  config: Pick<Config, 'HOST' | 'CONSOLE_ORIGINS'>
  trusted: TrustedProxies
  /** Current value of the option `ServerAddress`; empty if not set. */
  serverAddress(): string
}

/**
 * Returns a check whether the server accepts the `Host` of a request. On a loopback `HOST` it
 * accepts loopback names, the hosts of `ServerAddress` and `CONSOLE_ORIGINS`, and any name that a
 * trusted proxy passes on, because the proxy's operator chose it. On any other `HOST` it accepts
 * every name. A request without `Host` (HTTP/1.0) does not come from a browser.
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

/** Maximum number of characters of the `Host` header in an error. */
const SHOWN_HOST_MAX = 100

/** Rejects a request with an unaccepted host name before its body is read. */
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
