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
import { callForObject } from './provider-call.ts'

/**
 * Sign-in with Lark. It is enabled if both client id and secret are set; the wire has no switch for
 * it. The documentation does not state whether the authorization page supports PKCE, so it is not
 * used.
 */
export function createLark(
  { config, options }: { config: Config; options: LiveOptions },
  egress: Egress,
): RedirectProvider {
  return {
    name: 'lark',
    names: () => PROVIDER_NAMES.lark,
    isOpen: () => options.text('LarkClientId') !== '' && options.text('LarkClientSecret') !== '',
    prepare: ({ redirectUri }) => Promise.resolve({ redirectUri, codeVerifier: '', nonce: '' }),
    authorizeUrl({ redirectUri }, state) {
      const url = new URL(`${config.LARK_BASE_URL}/open-apis/authen/v1/index`)
      url.search = new URLSearchParams({
        redirect_uri: redirectUri,
        app_id: options.text('LarkClientId'),
        state,
      }).toString()
      return Promise.resolve(url)
    },
    async personOf({ code }, { redirectUri }) {
      const granted = await callForObject(egress, {
        method: 'POST',
        url: `${config.LARK_BASE_URL}/open-apis/authen/v2/oauth/token`,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          client_id: options.text('LarkClientId'),
          client_secret: options.text('LarkClientSecret'),
          code,
          grant_type: 'authorization_code',
          redirect_uri: redirectUri,
        }),
      })
      const token = textOf(granted['access_token'])
      if (!/^[\x21-\x7e]+$/.test(token)) throw new ExchangeFailure('refused', granted['code'])
      const user = await callForObject(egress, {
        method: 'GET',
        url: `${config.LARK_API_BASE_URL}/suite/passport/oauth/userinfo`,
        headers: { authorization: `Bearer ${token}` },
      })
      // An empty id would match every user.
      const subject = textId(user['open_id'])
      if (subject === null) throw new ExchangeFailure('unclear', 'no open_id')
      return {
        subject,
        isProven: true,
        label: subject,
        displayName: textOf(user['name']) || 'Lark User',
      }
    },
  }
}
