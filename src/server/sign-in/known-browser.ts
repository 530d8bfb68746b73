import { randomBytes } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { App } from '../app.ts'
import { cookieScope } from '../http/console-origins.ts'
import { sameText } from '../secrets.ts'

/**
 * Wrong passwords are counted by account, whoever tries them, so that with ten of them anybody
 * could keep its owner out. A browser in which somebody has signed in to the account is known by a
 * cookie and counts for itself: what strangers try does not shut it out, and it may try no more
 * than they.
 */
const COOKIE = 'known_browser'
const LIFE_SECONDS = 365 * 86_400
/** Accounts that one browser is known for, the last ones to sign in. */
const ACCOUNTS_MAX = 5
const BETWEEN = '~'

type Known = Pick<App, 'sessions' | 'config' | 'isSecure' | 'ownOrigins'>

/** Under which name guesses from this browser are counted; null: it is not known for the user. */
export function knownBrowser(
  { sessions }: Pick<App, 'sessions'>,
  request: FastifyRequest,
  userId: number,
): string | null {
  const prefix = `${userId}.`
  const mark = marksOf(request).find((one) => one.startsWith(prefix))
  const [, id = '', signature = ''] = mark?.split('.') ?? []
  // Names of accounts are counted in small letters.
  return id !== '' && sameText(sessions.sign(textOf(userId, id)), signature)
    ? `Browser ${id}`
    : null
}

/** From now on this browser is known for the user. Programs have no `Origin` and need no mark. */
export function rememberBrowser(
  app: Known,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  userId: number,
): void {
  if (request.headers.origin === undefined || knownBrowser(app, request, userId) !== null) return
  const id = randomBytes(16).toString('base64url')
  const mark = `${userId}.${id}.${app.sessions.sign(textOf(userId, id))}`
  const others = marksOf(request).filter((one) => !one.startsWith(`${userId}.`))
  reply.setCookie(COOKIE, [mark, ...others].slice(0, ACCOUNTS_MAX).join(BETWEEN), {
    ...cookieScope(app, request),
    // Nobody else needs to be told.
    path: `${app.config.BASE_PATH}api/user/login`,
    maxAge: LIFE_SECONDS,
  })
}

const marksOf = ({ cookies }: FastifyRequest): string[] =>
  (cookies[COOKIE] ?? '').split(BETWEEN).filter((mark) => mark !== '')

const textOf = (userId: number, id: string): string => `known browser ${userId} ${id}`
