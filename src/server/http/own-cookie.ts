import type { CookieSerializeOptions } from '@fastify/cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { App } from '../app.ts'
import { isBrowser } from './csrf.ts'

/**
 * This server's cookies. Over TLS a browser gets them with the prefix `__Host-`, which it accepts
 * only from this host itself and only over TLS. Otherwise a subdomain, or an attacker on a plain
 * HTTP connection, could set their own cookie and make a visitor work in their account. Programs
 * keep the plain name (`session`), which scripts for One API read and send; see
 * `docs/decisions/0014-cookie-names.md`.
 */

const HOST_PREFIX = '__Host-'

type CookieApp = Pick<App, 'config' | 'isSecure' | 'ownOrigins'>
type Exchange = { request: FastifyRequest; reply: FastifyReply }

/** Whether the caller's cookies carry the prefix. The prefix requires `Path=/`. */
const isPrefixed = ({ config, isSecure }: CookieApp, { raw, headers }: FastifyRequest): boolean =>
  config.BASE_PATH === '/' && isSecure(raw) && isBrowser(headers)

/**
 * Returns the value of a cookie; undefined if it is missing or could have been set by another host.
 */
export function readCookie(
  app: CookieApp,
  request: FastifyRequest,
  name: string,
): string | undefined {
  const { cookies } = request
  // A program may send a cookie that was set in a browser.
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

/** Deletes a cookie in the browser, under each name that the request contains. */
export function clearCookie(app: CookieApp, { request, reply }: Exchange, name: string): void {
  const names = [name, HOST_PREFIX + name].filter((one) => request.cookies[one] !== undefined)
  // Requires the attributes it was set with, or a console on another site keeps it.
  for (const one of names.length > 0 ? names : [name]) {
    reply.clearCookie(one, cookieScope(app, request))
  }
}

/**
 * Returns the attributes of cookies. A console on another site gets a cross-site cookie, which
 * browsers accept only over TLS (or from the local machine); all other cookies are same-site.
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
