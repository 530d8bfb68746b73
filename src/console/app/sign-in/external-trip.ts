import {
  REDIRECTING_PROVIDERS,
  type RedirectingProvider,
  type SignInIntent,
} from '../../../contract/oauth.ts'
import { callWhole } from '../call.ts'
import type { KnownStatus } from '../known-status.ts'

/**
 * Opens a provider in a new window, which returns to our callback page. The window is opened within
 * the click, before any request: later, browsers block it as a pop-up.
 */
export async function goToProvider(
  provider: RedirectingProvider,
  intent: SignInIntent,
  status: KnownStatus,
): Promise<void> {
  const opened = window.open('', '_blank')
  try {
    const { data: state, ...beside } = await callWhole('GET /api/oauth/state', {
      query: { provider, intent },
    })
    const own = REDIRECTING_PROVIDERS.find((name) => name === provider)
    const address =
      beside.authorize_url ?? (own === undefined ? '' : authorizeAddress(own, state, status))
    if (opened === null) {
      location.assign(address)
      return
    }
    // The provider's page must not access ours.
    opened.opener = null
    opened.location.replace(address)
  } catch {
    // The failed request has already been reported.
    opened?.close()
  }
}

/** Address of the provider's page for a One API server, which leaves it to the console. */
export function authorizeAddress(
  provider: (typeof REDIRECTING_PROVIDERS)[number],
  state: string,
  status: KnownStatus,
): string {
  const back = new URL(`oauth/${provider}`, document.baseURI).href
  switch (provider) {
    case 'github':
      return withQuery('https://github.com/login/oauth/authorize', {
        client_id: status.github_client_id ?? '',
        state,
        scope: 'user:email',
      })
    case 'lark':
      return withQuery('https://open.feishu.cn/open-apis/authen/v1/index', {
        redirect_uri: back,
        app_id: status.lark_client_id ?? '',
        state,
      })
    case 'oidc':
      return withQuery(status.oidc_authorization_endpoint ?? '', {
        client_id: status.oidc_client_id ?? '',
        redirect_uri: back,
        response_type: 'code',
        scope: 'openid profile email',
        state,
      })
    default:
      return provider satisfies never
  }
}

function withQuery(address: string, members: Record<string, string>): string {
  const url = new URL(address, document.baseURI)
  for (const [name, value] of Object.entries(members)) url.searchParams.set(name, value)
  return url.href
}
