import * as client from 'openid-client'
import type { App } from '../../app.ts'
import type { LiveOptions } from '../../option/live-options.ts'
import {
  ExchangeFailure,
  textId,
  type ExternalPerson,
  type Redirecting,
  type Return,
  type Trip,
} from './external-provider.ts'
import { endpointsPerson } from './oidc-endpoints.ts'
import { oidcPerson } from './oidc-person.ts'
import { challengeOf } from './pkce.ts'
import { callProvider, PROVIDER_TIMEOUT_MS } from './provider-call.ts'

/**
 * Signing in with an OpenID Connect provider. With a discovery document everything that OpenID
 * Connect offers is checked: issuer, audience, nonce, times and signature of the identity token.
 * With endpoints alone, as One API has them, the provider is believed because TLS says it is it.
 */
export function createOidc({ options, egress, clock }: App): Redirecting {
  const known = new Map<string, { configuration: client.Configuration; untilMs: number }>()

  async function configurationFor(wellKnown: string): Promise<client.Configuration> {
    const id = options.text('OidcClientId')
    const secret = options.text('OidcClientSecret')
    const key = JSON.stringify([wellKnown, id, secret, ENDPOINTS.map((name) => options.text(name))])
    const kept = known.get(key)
    if (kept !== undefined && kept.untilMs > clock.monotonicMs()) return kept.configuration
    const fetched = await discover(new URL(wellKnown), id, fetchBy(egress))
    const configuration = adjusted(fetched, options, secret)
    if (isPlain(wellKnown)) client.allowInsecureRequests(configuration)
    client.enableNonRepudiationChecks(configuration)
    configuration[client.customFetch] = fetchBy(egress)
    configuration.timeout = PROVIDER_TIMEOUT_MS / 1000
    known.clear()
    known.set(key, { configuration, untilMs: clock.monotonicMs() + KEEP_MS })
    return configuration
  }

  const discovered = async (): Promise<client.Configuration | null> => {
    const wellKnown = options.text('OidcWellKnown')
    return wellKnown === '' ? null : translated(() => configurationFor(wellKnown))
  }

  return {
    name: 'oidc',
    isOpen: () => options.flag('OidcEnabled') && options.text('OidcClientId') !== '',
    async prepare(trip) {
      const configuration = await discovered()
      if (configuration === null) return { ...trip, nonce: '' }
      const usesPkce = configuration.serverMetadata().supportsPKCE()
      return { ...trip, codeVerifier: usesPkce ? trip.codeVerifier : '' }
    },
    async authorizeUrl(trip, state) {
      const configuration = await discovered()
      const parameters = {
        redirect_uri: trip.redirectUri,
        response_type: 'code',
        scope: 'openid profile email',
        state,
        ...challengeOf(trip.codeVerifier),
        ...(trip.nonce === '' ? {} : { nonce: trip.nonce }),
      }
      if (configuration !== null) return client.buildAuthorizationUrl(configuration, parameters)
      const url = new URL(options.text('OidcAuthorizationEndpoint'))
      const all = { client_id: options.text('OidcClientId'), ...parameters }
      for (const [name, value] of Object.entries(all)) url.searchParams.set(name, value)
      return url
    },
    async personOf(answer, trip) {
      const configuration = await discovered()
      return configuration === null
        ? endpointsPerson({ options, egress }, answer, trip)
        : translated(() => verifiedPerson(configuration, answer, trip))
    },
  }
}

/** How long a discovery document and its keys are kept. */
const KEEP_MS = 10 * 60_000

/** What an operator may set beside the discovery document; it wins. */
const ENDPOINTS = [
  'OidcAuthorizationEndpoint',
  'OidcTokenEndpoint',
  'OidcUserinfoEndpoint',
] as const

/** An operator who wrote `http:` means it: a provider on the same machine or network. */
const isPlain = (address: string): boolean => address.startsWith('http:')

async function discover(
  wellKnown: URL,
  clientId: string,
  customFetch: client.CustomFetch,
): Promise<client.ServerMetadata> {
  const configuration = await client.discovery(wellKnown, clientId, undefined, undefined, {
    [client.customFetch]: customFetch,
    timeout: PROVIDER_TIMEOUT_MS / 1000,
    ...(isPlain(wellKnown.href) ? { execute: [client.allowInsecureRequests] } : {}),
  })
  return configuration.serverMetadata()
}

function adjusted(
  fetched: client.ServerMetadata,
  options: LiveOptions,
  secret: string,
): client.Configuration {
  const methods = fetched.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
  const authentication = methods.includes('client_secret_basic')
    ? client.ClientSecretBasic(secret)
    : client.ClientSecretPost(secret)
  const [authorization, token, userinfo] = ENDPOINTS.map((name) => options.text(name))
  const metadata: client.ServerMetadata = {
    ...fetched,
    // Consoles of the family hand on code and state alone; there is one issuer here, so nothing
    // can be mixed up. An `iss` that does arrive is compared.
    authorization_response_iss_parameter_supported: false,
    ...(authorization ? { authorization_endpoint: authorization } : {}),
    ...(token ? { token_endpoint: token } : {}),
    ...(userinfo ? { userinfo_endpoint: userinfo } : {}),
  }
  return new client.Configuration(metadata, options.text('OidcClientId'), undefined, authentication)
}

async function verifiedPerson(
  configuration: client.Configuration,
  { code, state, iss }: Return,
  { redirectUri, codeVerifier, nonce }: Trip,
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
  return oidcPerson({ issuer, subject }, { ...claims, ...profile })
}

/** The library's calls go the way of all calls. */
const fetchBy =
  (egress: App['egress']): client.CustomFetch =>
  async (url, { method, headers, body }) => {
    const answer = await callProvider(egress, {
      method: method === 'POST' ? 'POST' : 'GET',
      url,
      headers,
      // The library sends forms only.
      ...(body === null || body === undefined ? {} : { body: String(body) }),
    })
    return new Response(answer.text, {
      status: answer.status,
      headers: { 'content-type': answer.contentType },
    })
  }

/**
 * What the library throws, in our words: what our own call threw inside of it, the provider's
 * refusal, or an answer that does not prove what it should.
 */
async function translated<T>(work: () => Promise<T>): Promise<T> {
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
