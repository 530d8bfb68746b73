import { randomBytes } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { App } from '../app.ts'
import { cookieScope } from '../http/own-cookie.ts'
import { sameText } from '../secrets.ts'
import type { StoredUser } from '../user/user-store.ts'

/**
 * Wrong passwords are counted by account, whoever tries them, so that with ten of them anybody
 * could keep its owner out. A browser in which somebody has signed in to the account is known by a
 * cookie and counts for itself: what strangers try does not shut it out, and it may try no more
 * than they. A new password ends that: who knew the former one may have made itself known in any
 * number of browsers, each with guesses of its own.
 */
const COOKIE = 'known_browser'
const LIFE_SECONDS = 365 * 86_400
/** Accounts that one browser is known for, the last ones to sign in. */
const ACCOUNTS_MAX = 5
const BETWEEN = '~'

type Known = Pick<App, 'sessions' | 'config' | 'isSecure' | 'ownOrigins'>
type Account = Pick<StoredUser, 'id' | 'password'>

/** Under which name guesses from this browser are counted; null: it is not known for the user. */
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

/** From now on this browser is known for the user. Programs have no `Origin` and need no mark. */
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
    // Nobody else needs to be told.
    path: `${app.config.BASE_PATH}api/user/login`,
    maxAge: LIFE_SECONDS,
  })
}

const marksOf = ({ cookies }: FastifyRequest): string[] =>
  (cookies[COOKIE] ?? '').split(BETWEEN).filter((mark) => mark !== '')

const textOf = ({ id: userId, password }: Account, id: string): string =>
  `known browser ${userId} ${id} ${password ?? ''}`
