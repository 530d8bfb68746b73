import type { CookieSerializeOptions } from '@fastify/cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { App } from '../app.ts'
import { isBrowser } from './csrf.ts'

/**
 * Our cookies. Over TLS a browser gets them under a name with `__Host-`, which it accepts only from
 * this host itself and only over TLS. Otherwise a neighbour under the same domain, or somebody on a
 * plain HTTP connection, could plant a cookie of theirs and have a visitor work in their account.
 * Programs keep the plain name (`session`), which scripts for One API read and send; see
 * `docs/decisions/0014-cookie-names.md`.
 */

const HOST_PREFIX = '__Host-'

type CookieApp = Pick<App, 'config' | 'isSecure' | 'ownOrigins'>
type Exchange = { request: FastifyRequest; reply: FastifyReply }

/** Whether the caller's cookies carry the prefix. It demands `Path=/`. */
const isPrefixed = ({ config, isSecure }: CookieApp, { raw, headers }: FastifyRequest): boolean =>
  config.BASE_PATH === '/' && isSecure(raw) && isBrowser(headers)

/** Returns the value of a cookie of ours; undefined if it did not come, or could have been planted. */
export function readCookie(
  app: CookieApp,
  request: FastifyRequest,
  name: string,
): string | undefined {
  const { cookies } = request
  // A program may send what it was given in a browser.
  return cookies[HOST_PREFIX + name] ?? (isPrefixed(app, request) ? undefined : cookies[name])
}

/** Sets a cookie that only this server reads; `maxAge` in seconds. */
export function setCookie(
  app: CookieApp,
  { request, reply }: Exchange,
  { name, value, maxAge }: { name: string; value: string; maxAge: number },
): void {
  const prefix = isPrefixed(app, request) ? HOST_PREFIX : ''
  reply.setCookie(prefix + name, value, { ...cookieScope(app, request), maxAge })
}

/** Makes the browser forget a cookie, under each name that it came with. */
export function clearCookie(app: CookieApp, { request, reply }: Exchange, name: string): void {
  const names = [name, HOST_PREFIX + name].filter((one) => request.cookies[one] !== undefined)
  // With the attributes it was set with, or a console on another site keeps it.
  for (const one of names.length > 0 ? names : [name]) {
    reply.clearCookie(one, cookieScope(app, request))
  }
}

/**
 * The attributes of a cookie of ours. A console on another site gets one that travels between
 * sites, which browsers accept over TLS (or from this machine) only; all others stay on our site.
 */
export function cookieScope(app: CookieApp, request: FastifyRequest): CookieSerializeOptions {
  const isForeignConsole = app.ownOrigins.has(request.headers.origin ?? '')
  return {
    path: app.config.BASE_PATH,
    httpOnly: true,
    sameSite: isForeignConsole ? 'none' : 'lax',
    secure: isForeignConsole || app.isSecure(request.raw),
  }
}
