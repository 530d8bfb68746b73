import type { Config } from '../../config.ts'
import type { Egress } from '../../egress/egress.ts'
import type { LiveOptions } from '../../option/live-options.ts'
import {
  ExchangeFailure,
  PROVIDER_NAMES,
  textId,
  textOf,
  type RedirectProvider,
} from './external-provider.ts'
import { challengeOf } from './pkce.ts'
import { callForObject } from './provider-call.ts'

/**
 * Sign-in with GitHub or GitHub Enterprise. The code is exchanged at `/login/oauth/access_token`;
 * `/user` returns the person. Servers without PKCE support ignore it.
 */
export function createGithub(
  { config, options }: { config: Config; options: LiveOptions },
  egress: Egress,
): RedirectProvider {
  return {
    name: 'github',
    names: () => PROVIDER_NAMES.github,
    isOpen: () => options.flag('GitHubOAuthEnabled') && options.text('GitHubClientId') !== '',
    // The redirect address is registered with GitHub.
    prepare: (authorization) => Promise.resolve({ ...authorization, redirectUri: '', nonce: '' }),
    authorizeUrl(authorization, state) {
      const url = new URL(`${config.GITHUB_BASE_URL}/login/oauth/authorize`)
      url.search = new URLSearchParams({
        client_id: options.text('GitHubClientId'),
        state,
        scope: 'user:email',
        ...challengeOf(authorization.codeVerifier),
      }).toString()
      return Promise.resolve(url)
    },
    async personOf({ code }, { codeVerifier }) {
      const granted = await callForObject(egress, {
        method: 'POST',
        url: `${config.GITHUB_BASE_URL}/login/oauth/access_token`,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          client_id: options.text('GitHubClientId'),
          client_secret: options.text('GitHubClientSecret'),
          code,
          ...(codeVerifier === '' ? {} : { code_verifier: codeVerifier }),
        }),
      })
      // GitHub responds to a wrong code with status 200 and an `error` member.
      const token = textId(granted['access_token'])
      if (token === null) throw new ExchangeFailure('refused', granted['error'])
      const user = await callForObject(egress, {
        method: 'GET',
        url: `${config.GITHUB_API_BASE_URL}/user`,
        headers: { authorization: `Bearer ${token}` },
      })
      const subject = numericId(user['id'])
      const login = textId(user['login'])
      if (subject === null || login === null) throw new ExchangeFailure('unclear', 'no id')
      return {
        subject,
        isProven: true,
        label: login,
        displayName: textOf(user['name']) || 'GitHub User',
      }
    },
  }
}

/**
 * GitHub's ids are integers. An id that a JavaScript number cannot represent exactly would be
 * rounded to another user's, so it is rejected.
 */
function numericId(value: unknown): string | null {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value > 0 ? `${value}` : null
  return typeof value === 'string' && /^[1-9]\d{0,18}$/.test(value) ? value : null
}
