import type { Config } from '../../config.ts'
import type { Egress } from '../../egress/egress.ts'
import type { LiveOptions } from '../../option/live-options.ts'
import { ExchangeFailure, textId, textOf, type Redirecting } from './external-provider.ts'
import { challengeOf } from './pkce.ts'
import { callForObject } from './provider-call.ts'

/**
 * Signing in with GitHub or an enterprise installation of it. The code is exchanged at
 * `/login/oauth/access_token`, `/user` says who it is. Servers that do not know PKCE ignore it.
 */
export function createGithub(
  { config, options }: { config: Config; options: LiveOptions },
  egress: Egress,
): Redirecting {
  return {
    name: 'github',
    isOpen: () => options.flag('GitHubOAuthEnabled') && options.text('GitHubClientId') !== '',
    // Where people return to is registered with GitHub.
    prepare: (trip) => Promise.resolve({ ...trip, redirectUri: '', nonce: '' }),
    authorizeUrl(trip, state) {
      const url = new URL(`${config.GITHUB_BASE_URL}/login/oauth/authorize`)
      url.search = new URLSearchParams({
        client_id: options.text('GitHubClientId'),
        state,
        scope: 'user:email',
        ...challengeOf(trip.codeVerifier),
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
      // A wrong code is answered with status 200 and an `error` member.
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
 * GitHub's ids are whole numbers. One that a JavaScript number cannot hold exactly would be
 * somebody else's after rounding, so it counts as none.
 */
function numericId(value: unknown): string | null {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value > 0 ? `${value}` : null
  return typeof value === 'string' && /^[1-9]\d{0,18}$/.test(value) ? value : null
}
