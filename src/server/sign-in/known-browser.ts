import { randomBytes } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { App } from '../app.ts'
import { cookieScope } from '../http/own-cookie.ts'
import { sameText } from '../secrets.ts'
import type { StoredUser } from '../user/user-store.ts'

/**
 * Wrong passwords are counted per account, so anyone could lock out its owner with ten of them. A
 * browser in which the account has signed in is recognized by a cookie and has a counter of its
 * own: it is not locked out by others and has the same limit. A new password invalidates these
 * cookies, because a person with the old password may have collected any number of them, each with
 * its own guesses.
 */
const COOKIE = 'known_browser'
const LIFE_SECONDS = 365 * 86_400
/** Maximum number of accounts per browser; the most recent sign-ins are kept. */
const ACCOUNTS_MAX = 5
const BETWEEN = '~'

type Known = Pick<App, 'sessions' | 'config' | 'isSecure' | 'ownOrigins'>
type Account = Pick<StoredUser, 'id' | 'password'>

/**
 * Returns the counter key for guesses from this browser, or null if it is not known for the
 * account.
 */
export function knownBrowser(
  { sessions }: Pick<App, 'sessions'>,
  request: FastifyRequest,
  account: Account,
): string | null {
  const prefix = `${account.id}.`
  const mark = marksOf(request).find((one) => one.startsWith(prefix))
  const [, id = '', signature = ''] = mark?.split('.') ?? []
  return id !== '' && sameText(sessions.sign(textOf(account, id)), signature)
    ? `Browser ${id}`
    : null
}

/** Marks this browser as known for the account. Programs send no `Origin` and get no cookie. */
export function rememberBrowser(
  app: Known,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  account: Account,
): void {
  if (request.headers.origin === undefined || knownBrowser(app, request, account) !== null) return
  const id = randomBytes(16).toString('base64url')
  const mark = `${account.id}.${id}.${app.sessions.sign(textOf(account, id))}`
  const others = marksOf(request).filter((one) => !one.startsWith(`${account.id}.`))
  reply.setCookie(COOKIE, [mark, ...others].slice(0, ACCOUNTS_MAX).join(BETWEEN), {
    ...cookieScope(app, request),
    // Only the sign-in route needs the cookie.
    path: `${app.config.BASE_PATH}api/user/login`,
    maxAge: LIFE_SECONDS,
  })
}

const marksOf = ({ cookies }: FastifyRequest): string[] =>
  (cookies[COOKIE] ?? '').split(BETWEEN).filter((mark) => mark !== '')

const textOf = ({ id: userId, password }: Account, id: string): string =>
  `known browser ${userId} ${id} ${password ?? ''}`
