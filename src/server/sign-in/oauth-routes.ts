import { oauthApi } from '../../contract/oauth-api.ts'
import { BOUND_MESSAGE, type RedirectingProvider } from '../../contract/oauth.ts'
import { DEFAULT_PASSWORD, isRoot } from '../../contract/user.ts'
import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import type { SignInStateRow } from '../db/schema.ts'
import { isCrossSite } from '../http/csrf.ts'
import { serve, type Actor, type CallContext, type Route } from '../http/handler.ts'
import {
  ExchangeFailure,
  named,
  type ExternalPerson,
  type Redirecting,
  type Return,
} from './provider/external-provider.ts'
import { bind, unbind, userOf, type External } from './external-sign-in.ts'
import { createGithub } from './provider/github.ts'
import { createLark } from './provider/lark.ts'
import { createOidc } from './provider/oidc.ts'
import { arrive, depart, returnAddress, turnBack } from './sign-in-state.ts'
import { signInOrAsk } from '../second-factor/second-step.ts'
import { hashingCaller } from '../user/password.ts'
import { requireSession } from '../user/present-password.ts'
import { wechatPerson } from './provider/wechat.ts'

/** Signing in through others, and binding their accounts. */
export function oauthRoutes(app: App): Route[] {
  const providers: Record<RedirectingProvider, Redirecting> = {
    github: createGithub(app, app.egress),
    lark: createLark(app, app.egress),
    oidc: createOidc(app),
  }
  const state = serve(oauthApi.state, async ({ query, ...call }) => {
    const { intent } = query
    if (intent === 'bind' && call.actor === null) throw new AppError('not_signed_in')
    const provider = query.provider === undefined ? undefined : providers[query.provider]
    if (provider !== undefined) refuseClosed(provider)
    const started = await exchanged(app, provider?.name ?? 'oidc', () =>
      depart(app, call, { provider, intent }),
    )
    return {
      data: started.state,
      ...(started.authorizeUrl === undefined ? {} : { authorize_url: started.authorizeUrl }),
    }
  })
  return [
    state,
    serve(oauthApi.github, ({ query, ...call }) => comeBack(app, call, providers.github, query)),
    serve(oauthApi.lark, ({ query, ...call }) => comeBack(app, call, providers.lark, query)),
    serve(oauthApi.oidc, ({ query, ...call }) => comeBack(app, call, providers.oidc, query)),
    ...wechatRoutes(app),
    serve(oauthApi.unbind, async ({ actor, params }) => unbind(app, params.provider, actor.id)),
  ]
}

function wechatRoutes(app: App): Route[] {
  const { options, egress, rateLimits } = app
  const personWith = async (code: string): Promise<External> => {
    // Counted before the helper is asked, so that guesses made at once count as well.
    if (!(await rateLimits.wechatCode.take(EVERYBODY))) throw new AppError('wechat_code_attempts')
    let isWrongCode = false
    try {
      const person = await exchanged(app, 'wechat', () => wechatPerson(options, egress, code))
      return { provider: 'wechat', person }
    } catch (error) {
      isWrongCode = error instanceof AppError && error.code === 'wechat_code_invalid'
      throw error
    } finally {
      if (!isWrongCode) await rateLimits.wechatCode.giveBack(EVERYBODY)
    }
  }
  return [
    serve(oauthApi.wechat, async ({ query, ...call }) => {
      const { headers } = call.request
      // No state protects this call: another site could sign a visitor in as somebody it knows. No
      // site can add this header.
      if (headers.authorization === undefined && isCrossSite(headers, 'GET', app.ownOrigins)) {
        throw new AppError('cross_site')
      }
      if (query.code === '') throw new AppError('invalid_parameter')
      return { data: await signIn(app, call, await personWith(query.code)) }
    }),
    serve(oauthApi.wechatBind, async ({ query, actor }) => {
      requireSession(actor)
      if (query.code === '') throw new AppError('invalid_parameter')
      await bind(app, await personWith(query.code), actor.user)
    }),
  ]
}

/** Key of a limit that counts all callers together. */
const EVERYBODY = 'everybody'

/** The provider sent the person back: signs in, or binds for who is signed in already. */
async function comeBack(
  app: App,
  call: CallContext,
  provider: Redirecting,
  query: Return & { error: string },
) {
  const trip = await arrive(app, call, { state: query.state, provider: provider.name })
  const actor = binding(call, trip)
  const refusal = refusalOf(provider, query)
  if (refusal !== null) {
    // Nothing has been exchanged: the state is good for another return, as it was.
    await turnBack(app, trip)
    throw refusal
  }
  const person = await exchanged(app, provider.name, () =>
    personOf(app, call, provider, { trip, query }),
  )
  const external = { provider: provider.name, person }
  if (actor === null) return { data: await signIn(app, call, external) }
  await bind(app, external, actor.user)
  return { message: BOUND_MESSAGE, data: undefined }
}

/** Why there is nothing to exchange, or null. */
function refusalOf(provider: Redirecting, query: Return & { error: string }): AppError | null {
  if (!provider.isOpen()) return new AppError('external_closed', named(provider.name))
  if (query.error !== '') return new AppError('external_denied', named(provider.name))
  return query.code === '' ? new AppError('invalid_parameter') : null
}

async function personOf(
  app: App,
  { request }: CallContext,
  provider: Redirecting,
  { trip, query }: { trip: SignInStateRow; query: Return },
): Promise<ExternalPerson> {
  try {
    return await provider.personOf(query, {
      redirectUri: trip.redirect_uri || returnAddress(app, request, provider.name),
      codeVerifier: trip.code_verifier,
      nonce: trip.nonce,
    })
  } catch (error) {
    const isUnfinished = error instanceof ExchangeFailure && error.reason === 'unreachable'
    // It is this provider's from here on: the code may have reached it.
    if (isUnfinished) await turnBack(app, { ...trip, provider: provider.name })
    throw error
  }
}

/** Who binds, or null when the trip is for signing in. */
function binding({ actor }: CallContext, trip: SignInStateRow): Actor | null {
  if (actor === null || trip.intent === 'login') return null
  // The contract lets anyone call this; a session that may only change its password is not anyone.
  if (actor.mustChangePassword) throw new AppError('password_change_required')
  return actor
}

function refuseClosed(provider: Redirecting): void {
  if (!provider.isOpen()) throw new AppError('external_closed', named(provider.name))
}

async function signIn(app: App, call: CallContext, external: External) {
  const user = await userOf(app, external, call.requestId)
  // Spares everybody but root the work of a password.
  const mustChangePassword =
    isRoot(user.role) &&
    (await app.passwords.verify(DEFAULT_PASSWORD, user.password, hashingCaller(call)))
  return signInOrAsk(app, call, { user, mustChangePassword })
}

const SENTENCES = {
  unreachable: 'external_unreachable',
  refused: 'external_refused',
  unclear: 'external_answer_invalid',
  mismatch: 'external_mismatch',
} as const satisfies Record<ExchangeFailure['reason'], string>

/** Runs an exchange; what goes wrong is told in our words, the cause to the operator only. */
async function exchanged<T>(
  app: App,
  provider: External['provider'],
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ExchangeFailure)) throw error
    const { reason, cause } = error
    app.trace.warn({ provider, reason, cause: String(cause) }, 'an external sign-in failed')
    throw new AppError(SENTENCES[reason], named(provider))
  }
}
