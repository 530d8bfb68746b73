import { createCodeGrants } from './code-grants.ts'
import {
  chooserPage,
  startProviderServer,
  withQuery,
  type ProviderServer,
  type Question,
  type Reply,
} from './provider-server.ts'

/** `id` is the stable identifier; some tests give it another type. */
export interface GithubPerson {
  id?: unknown
  login?: unknown
  name?: unknown
}

export interface GithubProvider extends ProviderServer {
  clientId: string
  clientSecret: string
  /** Users by the word that selects them. */
  people: Map<string, GithubPerson>
  /** Redirect address after consent, which GitHub takes from the application's registration. */
  callback: string
}

/** The three endpoints of GitHub sign-in; API and pages are a single server here. */
export async function startGithubProvider(port = 0): Promise<GithubProvider> {
  const grants = createCodeGrants<GithubPerson>()
  const people = new Map<string, GithubPerson>()
  const settings = { clientId: 'github-client', clientSecret: 'github-secret', callback: '' }

  function authorize({ url }: Question): Reply {
    const state = url.searchParams.get('state') ?? ''
    const chosen = url.searchParams.get('as')
    if (url.searchParams.get('client_id') !== settings.clientId) return { status: 404, body: '' }
    if (chosen === 'nobody') {
      return { location: withQuery(settings.callback, { error: 'access_denied', state }) }
    }
    const person = chosen === null ? undefined : people.get(chosen)
    if (person === undefined) {
      const again = (as: string) => `${url.pathname}${url.search}&as=${encodeURIComponent(as)}`
      return chooserPage('GitHub', [
        ...[...people.keys()].map((label) => ({ label, url: again(label) })),
        { label: 'Cancel', url: again('nobody') },
      ])
    }
    const code = grants.code(person, url.searchParams.get('code_challenge'))
    return { location: withQuery(settings.callback, { code, state }) }
  }

  function token({ body }: Question): Reply {
    const isClient =
      body['client_id'] === settings.clientId && body['client_secret'] === settings.clientSecret
    if (!isClient) return { body: { error: 'incorrect_client_credentials' } }
    const granted = grants.exchange(body['code'], body['code_verifier'])
    return granted === null
      ? { body: { error: 'bad_verification_code', error_description: 'The code is incorrect.' } }
      : { body: { access_token: granted, token_type: 'bearer', scope: 'user:email' } }
  }

  const server = await startProviderServer({
    port,
    answer(question) {
      switch (`${question.method} ${question.url.pathname}`) {
        case 'GET /login/oauth/authorize':
          return authorize(question)
        case 'POST /login/oauth/access_token':
          return token(question)
        case 'GET /user': {
          const person = grants.personOf(question.headers.authorization)
          return person === null
            ? { status: 401, body: { message: 'Bad credentials' } }
            : { body: person }
        }
        default:
          return { status: 404, body: { message: 'Not Found' } }
      }
    },
  })
  return Object.assign(settings, server, { people })
}
