import type { ListedProvider } from '../../../contract/oauth.ts'
import { withoutTrailing } from '../../../contract/text.ts'
import * as client from 'openid-client'
import type { App } from '../../app.ts'
import { jsonMembers } from '../../egress/http-call.ts'
import { knowsOtherIssuer } from '../identity-store.ts'
import {
  ExchangeFailure,
  textId,
  type ExternalPerson,
  type RedirectProvider,
  type AuthorizationResponse,
  type AuthorizationRequest,
} from './external-provider.ts'
import { endpointsPerson, issuerOfEndpoints } from './oidc-endpoints.ts'
import { authorizationAddress } from './code-exchange.ts'
import { oidcPerson } from './oidc-person.ts'
import type { OidcSettings } from './oidc-settings.ts'
import { challengeOf } from './pkce.ts'
import { callProvider, PROVIDER_TIMEOUT_MS } from './provider-call.ts'

/**
 * Sign-in with an OpenID Connect provider. With a discovery document everything is verified:
 * issuer, audience, nonce, times and signature of the ID token. With endpoints only, as in One API,
 * the provider is trusted because of TLS. One API never reads the document, so an adopted address
 * may be invalid; then the endpoints are used.
 */
export function createOidc(
  app: App,
  name: OidcName,
  settings: () => OidcSettings,
): RedirectProvider {
  const { egress, clock } = app
  const known = new Map<string, { configuration: client.Configuration; untilMs: number }>()

  async function configurationFor(current: OidcSettings): Promise<client.Configuration> {
    const { wellKnown } = current
    const key = JSON.stringify(current)
    const kept = known.get(key)
    if (kept !== undefined && kept.untilMs > clock.monotonicMs()) return kept.configuration
    const fetched = await discover(wellKnown, current.clientId, egress)
    const configuration = adjusted(fetched, current)
    if (isPlain(wellKnown)) client.allowInsecureRequests(configuration)
    client.enableNonRepudiationChecks(configuration)
    configuration[client.customFetch] = fetchBy(egress)
    configuration.timeout = PROVIDER_TIMEOUT_MS / 1000
    known.clear()
    known.set(key, { configuration, untilMs: clock.monotonicMs() + KEEP_MS })
    return configuration
  }

  let toldOf = ''
  /** Returns null if the endpoints are to be used; `needed` are those the caller requires. */
  const discovered = async (needed: readonly Endpoint[]): Promise<client.Configuration | null> => {
    const current = settings()
    const { wellKnown } = current
    if (wellKnown === '') return null
    try {
      return await withExchangeFailures(() => configurationFor(current))
    } catch (error) {
      const mayFallBack =
        error instanceof NoDocument && (await mayUseEndpoints(app, { name, current, needed }))
      if (!mayFallBack) throw error
      if (toldOf !== wellKnown) {
        const cause = String(error.cause)
        app.trace.warn(
          { provider: name, wellKnown, cause },
          'the OpenID Connect document is unavailable; using the configured endpoints',
        )
      }
      toldOf = wellKnown
      return null
    }
  }

  return {
    name,
    names: () => settings().names,
    isOpen: () => settings().isOpen,
    async prepare(authorization) {
      const configuration = await discovered(ENDPOINTS)
      if (configuration === null) return { ...authorization, nonce: '' }
      const usesPkce = configuration.serverMetadata().supportsPKCE()
      return { ...authorization, codeVerifier: usesPkce ? authorization.codeVerifier : '' }
    },
    async authorizeUrl(authorization, state) {
      const configuration = await discovered(ENDPOINTS)
      const parameters = {
        redirect_uri: authorization.redirectUri,
        response_type: 'code',
        scope: settings().scopes,
        state,
        ...challengeOf(authorization.codeVerifier),
        ...(authorization.nonce === '' ? {} : { nonce: authorization.nonce }),
      }
      if (configuration !== null) return client.buildAuthorizationUrl(configuration, parameters)
      return authorizationAddress(settings(), parameters)
    },
    async personOf(answer, authorization) {
      const configuration = await discovered(EXCHANGE_ENDPOINTS)
      // A request that was sent with a nonce requires its verification.
      if (configuration === null && authorization.nonce !== '') {
        throw new ExchangeFailure('unreachable', 'the discovery document is missing')
      }
      return configuration === null
        ? endpointsPerson({ egress, settings: settings() }, answer, authorization)
        : withExchangeFailures(() => verifiedPerson(configuration, answer, authorization))
    },
  }
}

/** Milliseconds for which a discovery document and its keys are cached. */
const KEEP_MS = 10 * 60_000

const EXCHANGE_ENDPOINTS = ['tokenEndpoint', 'userinfoEndpoint'] as const
/** Settings that override endpoints of the discovery document. */
const ENDPOINTS = ['authorizationEndpoint', ...EXCHANGE_ENDPOINTS] as const
type Endpoint = (typeof ENDPOINTS)[number]

type OidcName = 'oidc' | ListedProvider

/** An operator may configure `http:` on purpose, for a provider on the same machine or network. */
const isPlain = (address: string): boolean => address.startsWith('http:')

/** The document cannot be loaded. An invalid document is a different failure. */
class NoDocument extends ExchangeFailure {}

/**
 * Whether the endpoints may replace the document. Not allowed after a user has signed in with the
 * document's issuer: the user would get another identity here, with weaker checks.
 */
async function mayUseEndpoints(
  { database }: App,
  { name, current, needed }: { name: OidcName; current: OidcSettings; needed: readonly Endpoint[] },
): Promise<boolean> {
  const token = current.tokenEndpoint
  if (!needed.every((endpoint) => current[endpoint] !== '') || !URL.canParse(token)) return false
  return !(await knowsOtherIssuer(database.read, name, issuerOfEndpoints(token)))
}

async function discover(
  wellKnown: string,
  clientId: string,
  egress: App['egress'],
): Promise<client.ServerMetadata> {
  if (!URL.canParse(wellKnown)) throw new NoDocument('unclear', 'invalid address')
  const configuration = await client.discovery(new URL(wellKnown), clientId, undefined, undefined, {
    [client.customFetch]: async (url, request) => {
      const answer = await fetchBy(egress)(url, request).catch(asNoDocument)
      const isDocument = answer.status === HTTP_OK && jsonMembers(await answer.clone().text())
      return isDocument ? answer : asNoDocument(new ExchangeFailure('unclear', answer.status))
    },
    timeout: PROVIDER_TIMEOUT_MS / 1000,
    ...(isPlain(wellKnown) ? { execute: [client.allowInsecureRequests] } : {}),
  })
  const metadata = configuration.serverMetadata()
  refuseOtherIssuer(wellKnown, metadata.issuer)
  return metadata
}

/**
 * Rejects a document of another issuer than its address (OpenID Connect Discovery 1.0, section
 * 4.3). Users are identified by their issuer, so an account that may change the address could
 * otherwise sign in as any of them. A trailing slash is ignored, because the address is built
 * without it.
 */
function refuseOtherIssuer(wellKnown: string, issuer: string): void {
  const named = URL.canParse(issuer) ? plainIssuer(new URL(issuer)) : issuer
  if (named === issuerOfAddress(new URL(wellKnown))) return
  throw new ExchangeFailure(
    'mismatch',
    `the discovery document at ${wellKnown} belongs to another issuer, ${issuer}. ` +
      'Set the discovery address to that issuer’s own: ' +
      `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`,
  )
}

const plainIssuer = ({ origin, pathname }: URL): string => origin + withoutTrailing(pathname, '/')

/**
 * Issuer of the document at this address: the well-known path follows its path, or precedes it (RFC
 * 8414, 3.1).
 */
const issuerOfAddress = ({ origin, pathname }: URL): string =>
  origin + withoutTrailing(pathname.replace(/\/\.well-known\/[^/]+/, ''), '/')

const HTTP_OK = 200

function asNoDocument(error: unknown): never {
  throw error instanceof ExchangeFailure ? new NoDocument(error.reason, error.cause) : error
}

function adjusted(
  fetched: client.ServerMetadata,
  { clientId, clientSecret: secret, ...settings }: OidcSettings,
): client.Configuration {
  const methods = fetched.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
  const authentication = methods.includes('client_secret_basic')
    ? client.ClientSecretBasic(secret)
    : client.ClientSecretPost(secret)
  const [authorization, token, userinfo] = ENDPOINTS.map((endpoint) => settings[endpoint])
  const metadata: client.ServerMetadata = {
    ...fetched,
    // Consoles for One API pass on code and state only. There is one issuer here, so no mix-up is
    // possible. An `iss` that is present is compared.
    authorization_response_iss_parameter_supported: false,
    ...(authorization ? { authorization_endpoint: authorization } : {}),
    ...(token ? { token_endpoint: token } : {}),
    ...(userinfo ? { userinfo_endpoint: userinfo } : {}),
  }
  return new client.Configuration(metadata, clientId, undefined, authentication)
}

async function verifiedPerson(
  configuration: client.Configuration,
  { code, state, iss }: AuthorizationResponse,
  { redirectUri, codeVerifier, nonce }: AuthorizationRequest,
): Promise<ExternalPerson> {
  const back = new URL(redirectUri)
  back.search = new URLSearchParams({ code, state, ...(iss === '' ? {} : { iss }) }).toString()
  const tokens = await client.authorizationCodeGrant(configuration, back, {
    expectedState: state,
    idTokenExpected: true,
    ...(codeVerifier === '' ? {} : { pkceCodeVerifier: codeVerifier }),
    ...(nonce === '' ? {} : { expectedNonce: nonce }),
  })
  const claims = tokens.claims()
  const subject = textId(claims?.sub)
  if (claims === undefined || subject === null) throw new ExchangeFailure('unclear', 'no subject')
  const { issuer, userinfo_endpoint: userinfo } = configuration.serverMetadata()
  const profile =
    userinfo === undefined
      ? claims
      : await client.fetchUserInfo(configuration, tokens.access_token, subject)
  return oidcPerson({ issuer, subject, isProven: true }, { ...claims, ...profile })
}

/** Sends the library's requests through the common egress. */
const fetchBy =
  (egress: App['egress']): client.CustomFetch =>
  async (url, { method, headers, body }) => {
    const answer = await callProvider(egress, {
      method: method === 'POST' ? 'POST' : 'GET',
      url,
      headers,
      // The library only sends forms.
      ...(body === null || body === undefined ? {} : { body: String(body) }),
    })
    return new Response(answer.text, {
      status: answer.status,
      headers: { 'content-type': answer.contentType },
    })
  }

/**
 * Converts errors of the library to an `ExchangeFailure`: an error of our own HTTP call inside it,
 * the provider's refusal, or a response that does not prove what it should.
 */
async function withExchangeFailures<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
      if (cause instanceof ExchangeFailure) throw cause
    }
    const isRefusal =
      error instanceof client.ResponseBodyError ||
      error instanceof client.AuthorizationResponseError
    throw new ExchangeFailure(isRefusal ? 'refused' : 'unclear', error)
  }
}
