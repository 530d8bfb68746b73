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
import type { Redirecting, Trip } from './provider/external-provider.ts'
import { insertState, takeState } from './sign-in-state-store.ts'

/**
 * The state of a trip to a provider proves that whoever comes back is whoever left: it is random,
 * lives ten minutes, serves once, and belongs to one session (a visitor: one browser), one provider
 * and one intent. Without that, a link could sign somebody in as another person, or bind another
 * person's account to somebody's user.
 */

/** Tells a visitor's browser from others while it is away at a provider. */
const VISITOR_COOKIE = 'sign_in'
const LIFE_SECONDS = 600
/** Letters and digits; more than 256 bits. */
const STATE_LENGTH = 43

export interface Departure {
  /** Absent: the first callback decides. */
  provider: Redirecting | undefined
  intent: SignInIntent | undefined
}

/** Starts a trip. Answers the state, and where to go when the provider is known. */
export async function depart(
  app: App,
  call: CallContext,
  { provider, intent }: Departure,
): Promise<{ state: string; authorizeUrl: string | undefined }> {
  const state = randomText(STATE_LENGTH)
  const nowSeconds = app.clock.nowSeconds()
  const trip =
    provider === undefined ? NO_TRIP : await provider.prepare(newTrip(app, call, provider))
  const url = await provider?.authorizeUrl(trip, state)
  const row = {
    state_hash: sha256(state),
    bound_to: ownBinding(app, call) ?? giveVisitorCookie(app, call),
    provider: provider?.name ?? '',
    intent: intent ?? '',
    code_verifier: trip.codeVerifier,
    nonce: trip.nonce,
    redirect_uri: trip.redirectUri,
    expires_at: nowSeconds + LIFE_SECONDS,
  }
  await insertState(app.database.write, row, nowSeconds)
  return { state, authorizeUrl: url?.href }
}

const NO_TRIP: Trip = { redirectUri: '', codeVerifier: '', nonce: '' }

const newTrip = (app: App, { request }: CallContext, { name }: Redirecting): Trip => ({
  redirectUri: returnAddress(app, request, name),
  codeVerifier: randomBytes(32).toString('base64url'),
  nonce: randomBytes(16).toString('base64url'),
})

/** The console's page for a provider, which compares it with the addresses registered there. */
export const returnAddress = (
  app: Pick<App, 'options' | 'config' | 'isSecure'>,
  request: FastifyRequest,
  provider: RedirectingProvider,
): string => `${ownAddress(app, request)}/oauth/${provider}`

/** The trip that this caller began with this provider. Throws `oauth_state_invalid`. */
export async function arrive(
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

/** Lets a trip be ended again whose exchange did not conclude. */
export const turnBack = (app: App, row: SignInStateRow): Promise<void> =>
  insertState(app.database.write, row, app.clock.nowSeconds())

/** Whose trips the caller may end, or null for a visitor without a cookie. */
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
