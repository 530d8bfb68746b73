import { createCodeGrants } from './code-grants.ts'
import {
  chooserPage,
  startProviderServer,
  withQuery,
  type ProviderServer,
  type Question,
  type Reply,
} from './provider-server.ts'

export interface OauthProvider extends ProviderServer {
  clientId: string
  clientSecret: string
  /** Userinfo responses by the name on the provider's page. */
  people: Map<string, Record<string, unknown>>
}

const PATHS = {
  linuxdo: { authorize: '/oauth2/authorize', token: '/oauth2/token', user: '/api/user' },
  discord: {
    authorize: '/oauth2/authorize',
    token: '/api/oauth2/token',
    user: '/api/users/@me',
  },
} as const

/**
 * LinuxDO or Discord. LinuxDO takes the client's secret from a header, Discord from the form; a
 * code requires the redirect address for which it was issued, and its PKCE verifier if it had a
 * challenge.
 */
export async function startOauthProvider(
  kind: keyof typeof PATHS,
  port = 0,
): Promise<OauthProvider> {
  const grants = createCodeGrants<Record<string, unknown>>()
  const people: OauthProvider['people'] = new Map()
  const settings = { clientId: `${kind}-client`, clientSecret: `${kind}-secret` }
  const redirects = new Map<string, string>()
  const paths = PATHS[kind]

  function authorize({ url }: Question): Reply {
    const query = url.searchParams
    if (query.get('client_id') !== settings.clientId) return { status: 404, body: '' }
    const chosen = query.get('as')
    const person = chosen === null ? undefined : people.get(chosen)
    if (person === undefined) {
      return chooserPage(
        kind,
        [...people.keys()].map((label) => ({
          label,
          url: `${url.pathname}${url.search}&as=${encodeURIComponent(label)}`,
        })),
      )
    }
    const redirectUri = query.get('redirect_uri') ?? ''
    const code = grants.code(person, query.get('code_challenge'))
    redirects.set(code, redirectUri)
    return { location: withQuery(redirectUri, { code, state: query.get('state') ?? '' }) }
  }

  function token({ body, headers }: Question): Reply {
    const { clientId, clientSecret } = settings
    const basic = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`
    const isClient =
      kind === 'linuxdo'
        ? headers.authorization === basic
        : body['client_id'] === clientId && body['client_secret'] === clientSecret
    const isSameAddress = redirects.get(String(body['code'])) === body['redirect_uri']
    const granted =
      isClient && isSameAddress ? grants.exchange(body['code'], body['code_verifier']) : null
    return granted === null
      ? { status: 400, body: { error: 'invalid_grant' } }
      : { body: { access_token: granted, expires_in: 604_800, token_type: 'Bearer' } }
  }

  const server = await startProviderServer({
    port,
    answer(question) {
      switch (question.url.pathname) {
        case paths.authorize:
          return authorize(question)
        case paths.token:
          return token(question)
        case paths.user: {
          const person = grants.personOf(question.headers.authorization)
          return person === null
            ? { status: 401, body: { message: '401: Unauthorized' } }
            : { body: person }
        }
        default:
          return { status: 404, body: {} }
      }
    },
  })
  return Object.assign(settings, server, { people })
}
