import { randomBytes } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { RedirectingProvider, SignInIntent } from '../../contract/oauth.ts'
import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import type { SignInStateRow } from '../db/schema.ts'
import { ownAddress } from '../http/console-origins.ts'
import type { CallContext } from '../http/handler.ts'
import { readCookie, setCookie } from '../http/own-cookie.ts'
import { randomText, sha256 } from '../secrets.ts'
import type { RedirectProvider, AuthorizationRequest } from './provider/external-provider.ts'
import { insertState, takeState } from './sign-in-state-store.ts'

/**
 * The state of an authorization request proves that the callback comes from the browser that
 * started it. It is random, expires after ten minutes, is valid once, and is bound to one session
 * (for a visitor: one browser), one provider and one intent. Otherwise a link could sign a person
 * in as another user, or bind a foreign account to their user.
 */

/** Identifies a visitor's browser during the redirect. */
const VISITOR_COOKIE = 'sign_in'
const LIFE_SECONDS = 600
/** Letters and digits; more than 256 bits. */
const STATE_LENGTH = 43

export interface AuthorizationStart {
  /** If absent, the first callback decides. */
  provider: RedirectProvider | undefined
  intent: SignInIntent | undefined
}

/**
 * Starts an authorization. Returns the state, and the provider's address if the provider is given.
 */
export async function startAuthorization(
  app: App,
  call: CallContext,
  { provider, intent }: AuthorizationStart,
): Promise<{ state: string; authorizeUrl: string | undefined }> {
  const state = randomText(STATE_LENGTH)
  const nowSeconds = app.clock.nowSeconds()
  const authorization =
    provider === undefined ? NO_REQUEST : await provider.prepare(newRequest(app, call, provider))
  const url = await provider?.authorizeUrl(authorization, state)
  const row = {
    state_hash: sha256(state),
    bound_to: ownBinding(app, call) ?? giveVisitorCookie(app, call),
    provider: provider?.name ?? '',
    intent: intent ?? '',
    code_verifier: authorization.codeVerifier,
    nonce: authorization.nonce,
    redirect_uri: authorization.redirectUri,
    expires_at: nowSeconds + LIFE_SECONDS,
  }
  await insertState(app.database.write, row, nowSeconds)
  return { state, authorizeUrl: url?.href }
}

const NO_REQUEST: AuthorizationRequest = { redirectUri: '', codeVerifier: '', nonce: '' }

const newRequest = (
  app: App,
  { request }: CallContext,
  { name }: RedirectProvider,
): AuthorizationRequest => ({
  redirectUri: returnAddress(app, request, name),
  codeVerifier: randomBytes(32).toString('base64url'),
  nonce: randomBytes(16).toString('base64url'),
})

/**
 * Console page for the provider's callback. It must match an address registered with the provider.
 */
export const returnAddress = (
  app: Pick<App, 'options' | 'config' | 'isSecure'>,
  request: FastifyRequest,
  provider: RedirectingProvider,
): string => `${ownAddress(app, request)}/oauth/${provider}`

/** Consumes the state that this caller started with this provider. Throws `oauth_state_invalid`. */
export async function consumeState(
  app: App,
  call: CallContext,
  { state, provider }: { state: string; provider: RedirectingProvider },
): Promise<SignInStateRow> {
  const boundTo = ownBinding(app, call)
  const row =
    state === '' || boundTo === null
      ? null
      : await takeState(app.database.write, {
          stateHash: sha256(state),
          boundTo,
          provider,
          nowSeconds: app.clock.nowSeconds(),
        })
  if (row === null) throw new AppError('oauth_state_invalid')
  return row
}

/** Makes a state valid again after an inconclusive exchange. */
export const restoreState = (app: App, row: SignInStateRow): Promise<void> =>
  insertState(app.database.write, row, app.clock.nowSeconds())

/** Binding of states that the caller may use, or null for a visitor without a cookie. */
function ownBinding(app: App, { actor, request }: CallContext): string | null {
  if (actor !== null) return `session ${actor.sessionHash}`
  const visitor = readCookie(app, request, VISITOR_COOKIE)
  return visitor === undefined || visitor === '' ? null : visitorBinding(visitor)
}

const visitorBinding = (cookie: string): string => `visitor ${sha256(cookie)}`

function giveVisitorCookie(app: App, call: CallContext): string {
  const cookie = randomText(STATE_LENGTH)
  setCookie(app, call, { name: VISITOR_COOKIE, value: cookie, maxAge: LIFE_SECONDS })
  return visitorBinding(cookie)
}
