import { oauthApi } from '../../contract/oauth-api.ts'
import { BOUND_MESSAGE, type RedirectingProvider } from '../../contract/oauth.ts'
import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import type { SignInStateRow } from '../db/schema.ts'
import { isCrossSite } from '../http/csrf.ts'
import { serve, type Actor, type CallContext, type Route } from '../http/handler.ts'
import {
  ExchangeFailure,
  named,
  PROVIDER_NAMES,
  type ExternalPerson,
  type ProviderNames,
  type RedirectProvider,
  type AuthorizationResponse,
} from './provider/external-provider.ts'
import { usesDefaultPassword } from './default-password.ts'
import { bind, unbind, userOf, type External } from './external-sign-in.ts'
import { applyRules } from './apply-rules.ts'
import { listedIdentities } from './identity-store.ts'
import { createRedirectProviders } from './provider/redirect-providers.ts'
import { consumeState, startAuthorization, returnAddress, restoreState } from './sign-in-state.ts'
import { mustSetUpFactor } from '../second-factor/required-factor.ts'
import { signInOrAsk } from '../second-factor/second-step.ts'
import { requireSession } from '../user/present-password.ts'
import { wechatPerson } from './provider/wechat.ts'

/** Routes to sign in with external providers and to bind their accounts. */
export function oauthRoutes(app: App): Route[] {
  const providers = createRedirectProviders(app)
  const callback = (call: CallContext, name: RedirectingProvider, query: CallbackQuery) =>
    handleCallback(app, call, providers(name), query)
  const state = serve(oauthApi.state, async ({ query, ...call }) => {
    const { intent } = query
    if (intent === 'bind' && call.actor === null) throw new AppError('not_signed_in')
    const provider = query.provider === undefined ? undefined : providers(query.provider)
    if (provider !== undefined) refuseClosed(provider)
    const started = await exchanged(app, provider ?? NO_PROVIDER, () =>
      startAuthorization(app, call, { provider, intent }),
    )
    return {
      data: started.state,
      ...(started.authorizeUrl === undefined ? {} : { authorize_url: started.authorizeUrl }),
    }
  })
  return [
    state,
    serve(oauthApi.github, ({ query, ...call }) => callback(call, 'github', query)),
    serve(oauthApi.lark, ({ query, ...call }) => callback(call, 'lark', query)),
    serve(oauthApi.oidc, ({ query, ...call }) => callback(call, 'oidc', query)),
    serve(oauthApi.linuxdo, ({ query, ...call }) => callback(call, 'linuxdo', query)),
    serve(oauthApi.discord, ({ query, ...call }) => callback(call, 'discord', query)),
    serve(oauthApi.listed, ({ query, params, ...call }) =>
      callback(call, `oidc/${params.name}`, query),
    ),
    ...wechatRoutes(app),
    serve(oauthApi.accounts, async ({ actor }) => ({
      data: await listedIdentities(app.database.read, actor.id),
    })),
    serve(oauthApi.unbind, async (call) => {
      requireSession(call.actor)
      await unbind(app, call.params.provider, call.actor.id, call)
    }),
    serve(oauthApi.unbindListed, async (call) => {
      requireSession(call.actor)
      await unbind(app, `oidc/${call.params.name}`, call.actor.id, call)
    }),
  ]
}

function wechatRoutes(app: App): Route[] {
  const { options, egress, rateLimits } = app
  const personWith = async (code: string): Promise<External> => {
    // Counted before the helper server is called, so that parallel guesses count as well.
    if (!(await rateLimits.wechatCode.take(EVERYBODY))) throw new AppError('wechat_code_attempts')
    let isWrongCode = false
    try {
      const person = await exchanged(app, WECHAT, () => wechatPerson(options, egress, code))
      return { provider: 'wechat', names: PROVIDER_NAMES.wechat, person }
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
      // No state protects this request, so another site could sign a visitor in as another person.
      // Other sites cannot add this header.
      if (headers.authorization === undefined && isCrossSite(headers, 'GET', app.ownOrigins)) {
        throw new AppError('cross_site')
      }
      if (query.code === '') throw new AppError('invalid_parameter')
      return { data: await signIn(app, call, await personWith(query.code)) }
    }),
    serve(oauthApi.wechatBind, async (call) => {
      const { query, actor } = call
      requireSession(actor)
      if (query.code === '') throw new AppError('invalid_parameter')
      await bind(app, await personWith(query.code), actor.user, call)
    }),
  ]
}

const WECHAT = { name: 'wechat', names: () => PROVIDER_NAMES.wechat } as const
/** Without a provider nothing is exchanged. */
const NO_PROVIDER = { name: 'oidc', names: () => PROVIDER_NAMES.oidc } as const

type CallbackQuery = AuthorizationResponse & { error: string }

/** Key of a limit that counts all callers together. */
const EVERYBODY = 'everybody'

/** Handles the provider's callback: signs in, or binds the identity to a signed-in user. */
async function handleCallback(
  app: App,
  call: CallContext,
  provider: RedirectProvider,
  query: CallbackQuery,
) {
  const state = await consumeState(app, call, { state: query.state, provider: provider.name })
  const actor = await binding(app, call, state)
  const refusal = refusalOf(provider, query)
  if (refusal !== null) {
    // No code was exchanged, so the state stays valid.
    await restoreState(app, state)
    throw refusal
  }
  const person = await exchanged(app, provider, () =>
    personOf(app, call, provider, { state, query }),
  )
  const external = { provider: provider.name, names: provider.names(), person }
  if (actor === null) return { data: await signIn(app, call, external) }
  await bind(app, external, actor.user, call)
  return { message: BOUND_MESSAGE, data: undefined }
}

/** Returns why there is no code to exchange, or null. */
function refusalOf(provider: RedirectProvider, query: CallbackQuery): AppError | null {
  if (!provider.isOpen()) return new AppError('external_closed', named(provider.names()))
  if (query.error !== '') return new AppError('external_denied', named(provider.names()))
  return query.code === '' ? new AppError('invalid_parameter') : null
}

async function personOf(
  app: App,
  { request }: CallContext,
  provider: RedirectProvider,
  { state, query }: { state: SignInStateRow; query: AuthorizationResponse },
): Promise<ExternalPerson> {
  try {
    return await provider.personOf(query, {
      redirectUri: state.redirect_uri || returnAddress(app, request, provider.name),
      codeVerifier: state.code_verifier,
      nonce: state.nonce,
    })
  } catch (error) {
    const isUnfinished = error instanceof ExchangeFailure && error.reason === 'unreachable'
    // From now on the state is bound to this provider, because the code may have reached it.
    if (isUnfinished) await restoreState(app, { ...state, provider: provider.name })
    throw error
  }
}

/** Returns the user who binds, or null if the request is for signing in. */
async function binding(
  app: App,
  { actor }: CallContext,
  state: SignInStateRow,
): Promise<Actor | null> {
  if (actor === null || state.intent === 'login') return null
  // The contract allows any caller, but a session that may only change its password counts as
  // restricted.
  if (actor.mustChangePassword) throw new AppError('password_change_required')
  if (await mustSetUpFactor(app, actor)) throw new AppError('second_factor_required')
  return actor
}

function refuseClosed(provider: RedirectProvider): void {
  if (!provider.isOpen()) throw new AppError('external_closed', named(provider.names()))
}

async function signIn(app: App, call: CallContext, external: External) {
  const known = await userOf(app, external, call.requestId)
  const user = await applyRules(app, call, external, known)
  const mustChangePassword = await usesDefaultPassword(app, call, user)
  return signInOrAsk(app, call, { user, mustChangePassword })
}

const SENTENCES = {
  unreachable: 'external_unreachable',
  refused: 'external_refused',
  unclear: 'external_answer_invalid',
  mismatch: 'external_mismatch',
} as const satisfies Record<ExchangeFailure['reason'], string>

/** Runs an exchange. Failures become our own error texts; the cause only goes to the trace. */
async function exchanged<T>(
  app: App,
  { name, names }: { name: External['provider']; names(): ProviderNames },
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ExchangeFailure)) throw error
    const { reason, cause } = error
    app.trace.warn({ provider: name, reason, cause: String(cause) }, 'an external sign-in failed')
    throw new AppError(SENTENCES[reason], named(names()))
  }
}
