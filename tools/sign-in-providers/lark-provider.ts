import { createCodeGrants } from './code-grants.ts'
import {
  chooserPage,
  startProviderServer,
  withQuery,
  type ProviderServer,
  type Question,
  type Reply,
} from './provider-server.ts'

export interface LarkPerson {
  open_id?: unknown
  name?: unknown
}

export interface LarkProvider extends ProviderServer {
  clientId: string
  clientSecret: string
  people: Map<string, LarkPerson>
}

interface Grant {
  person: LarkPerson
  redirectUri: string
}

/**
 * Lark's pages and API in one server. A code requires the redirect address for which it was issued.
 */
export async function startLarkProvider(port = 0): Promise<LarkProvider> {
  const grants = createCodeGrants<Grant>()
  const people = new Map<string, LarkPerson>()
  const settings = { clientId: 'cli_lark', clientSecret: 'lark-secret' }
  const redirects = new Map<string, string>()

  function authorize({ url }: Question): Reply {
    const { searchParams: query } = url
    const redirectUri = query.get('redirect_uri') ?? ''
    const chosen = query.get('as')
    const person = chosen === null ? undefined : people.get(chosen)
    if (query.get('app_id') !== settings.clientId) return { status: 404, body: '' }
    if (person === undefined) {
      return chooserPage(
        'Lark',
        [...people.keys()].map((label) => ({
          label,
          url: `${url.pathname}${url.search}&as=${encodeURIComponent(label)}`,
        })),
      )
    }
    const code = grants.code({ person, redirectUri })
    redirects.set(code, redirectUri)
    return { location: withQuery(redirectUri, { code, state: query.get('state') ?? '' }) }
  }

  function token({ body }: Question): Reply {
    const isClient =
      body['client_id'] === settings.clientId && body['client_secret'] === settings.clientSecret
    const isSameAddress = redirects.get(String(body['code'])) === body['redirect_uri']
    const granted = isClient && isSameAddress ? grants.exchange(body['code']) : null
    return granted === null
      ? { status: 400, body: { code: 20003, error: 'invalid_grant' } }
      : { body: { code: 0, access_token: granted, expires_in: 7200, token_type: 'Bearer' } }
  }

  const server = await startProviderServer({
    port,
    answer(question) {
      switch (`${question.method} ${question.url.pathname}`) {
        case 'GET /open-apis/authen/v1/index':
          return authorize(question)
        case 'POST /open-apis/authen/v2/oauth/token':
          return token(question)
        case 'GET /suite/passport/oauth/userinfo': {
          const grant = grants.personOf(question.headers.authorization)
          return grant === null
            ? { status: 401, body: { error: 'invalid_token' } }
            : { body: grant.person }
        }
        default:
          return { status: 404, body: {} }
      }
    },
  })
  return Object.assign(settings, server, { people })
}
