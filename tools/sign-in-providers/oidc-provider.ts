import { generateKeyPairSync, randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Provider } from 'oidc-provider'
import { chooserPage, startProviderServer, type ProviderServer } from './provider-server.ts'

export interface OidcPerson {
  name?: string
  preferred_username?: string
  email?: string
  email_verified?: boolean
  groups?: readonly string[]
}

export interface OidcProvider extends ProviderServer {
  clientId: string
  clientSecret: string
  /** Address of the discovery document. */
  wellKnown: string
  /** Users by subject. */
  people: Map<string, OidcPerson>
}

const CLIENT = { clientId: 'oidc-client', clientSecret: 'oidc-secret-of-some-length' }

/**
 * A certified OpenID Connect provider on loopback. The user is chosen on its page or by
 * `login_hint`; consent is implied.
 */
export async function startOidcProvider(
  callbacks: readonly string[],
  port = 0,
): Promise<OidcProvider> {
  const people = new Map<string, OidcPerson>()
  let handle: (request: IncomingMessage, response: ServerResponse) => void = () => {}
  const server = await startProviderServer({ port, handle: (...call) => handle(...call) })
  const provider = newProvider(server.url, callbacks, people)
  const own = provider.callback()
  handle = (request, response) => {
    const isChoice = request.url?.startsWith('/interaction/') === true
    void (isChoice ? choose(provider, people, { request, response }) : own(request, response))
  }
  const wellKnown = `${server.url}/.well-known/openid-configuration`
  return { ...server, ...CLIENT, wellKnown, people }
}

function newProvider(
  issuer: string,
  callbacks: readonly string[],
  people: ReadonlyMap<string, OidcPerson>,
): Provider {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  return new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT.clientId,
        client_secret: CLIENT.clientSecret,
        redirect_uris: [...callbacks],
        response_types: ['code'],
        grant_types: ['authorization_code'],
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256' }] },
    cookies: { keys: [randomBytes(16).toString('hex')] },
    claims: {
      openid: ['sub'],
      profile: ['name', 'preferred_username', 'groups'],
      email: ['email', 'email_verified'],
    },
    // Consoles that build the address themselves, like One API's, send no challenge.
    pkce: { required: () => false },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    ttl: {
      AccessToken: 600,
      AuthorizationCode: 60,
      IdToken: 600,
      Interaction: 600,
      Session: 600,
      Grant: 600,
    },
    findAccount(_context, accountId) {
      const person = people.get(accountId)
      if (person === undefined) return undefined
      return { accountId, claims: () => ({ sub: accountId, ...person }) }
    },
    async loadExistingGrant({ oidc }) {
      const grant = new oidc.provider.Grant({
        clientId: CLIENT.clientId,
        accountId: oidc.session?.accountId ?? '',
      })
      grant.addOIDCScope('openid profile email')
      await grant.save()
      return grant
    },
  })
}

async function choose(
  provider: Provider,
  people: ReadonlyMap<string, OidcPerson>,
  { request, response }: { request: IncomingMessage; response: ServerResponse },
): Promise<void> {
  const { params } = await provider.interactionDetails(request, response)
  const url = new URL(request.url ?? '/', 'http://provider.invalid')
  const chosen = url.searchParams.get('as') ?? String(params['login_hint'] ?? '')
  if (chosen === 'nobody') {
    await provider.interactionFinished(request, response, { error: 'access_denied' })
    return
  }
  if (people.has(chosen)) {
    await provider.interactionFinished(request, response, { login: { accountId: chosen } })
    return
  }
  const page = chooserPage('OpenID Connect', [
    ...[...people.keys()].map((label) => ({
      label,
      url: `${url.pathname}?as=${encodeURIComponent(label)}`,
    })),
    { label: 'Cancel', url: `${url.pathname}?as=nobody` },
  ])
  response.writeHead(200, { 'content-type': page.type ?? '' }).end(page.body)
}
