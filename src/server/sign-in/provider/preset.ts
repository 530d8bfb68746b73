import type { PresetProvider } from '../../../contract/oauth.ts'
import type { Egress } from '../../egress/egress.ts'
import { authorizationAddress, exchangedClaims } from './code-exchange.ts'
import {
  ExchangeFailure,
  textOf,
  type ExternalPerson,
  type RedirectProvider,
} from './external-provider.ts'
import type { OidcSettings } from './oidc-settings.ts'
import { challengeOf } from './pkce.ts'

interface PresetRow {
  /** Documented for the service; the others may reject it. */
  usesPkce: boolean
  usesBasic: boolean
  personOf(claims: Readonly<Record<string, unknown>>): Omit<ExternalPerson, 'claims'> | null
}

const ROWS: Record<PresetProvider, PresetRow> = {
  linuxdo: {
    usesPkce: false,
    usesBasic: true,
    personOf(claims) {
      const id = idOf(claims['id'])
      // A suspended account keeps its token.
      if (id === null || claims['active'] === false) return null
      const username = textOf(claims['username'])
      return {
        subject: id,
        isProven: true,
        label: username || id,
        displayName: textOf(claims['name']) || username || 'LinuxDO User',
        ...(username === '' ? {} : { username }),
      }
    },
  },
  discord: {
    usesPkce: true,
    usesBasic: false,
    personOf(claims) {
      const id = idOf(claims['id'])
      if (id === null) return null
      const username = textOf(claims['username'])
      const email = claims['verified'] === true ? textOf(claims['email']) : ''
      return {
        subject: id,
        isProven: true,
        label: username || id,
        displayName: textOf(claims['global_name']) || username || 'Discord User',
        ...(username === '' ? {} : { username }),
        ...(email === '' ? {} : { email }),
      }
    },
  },
}

/** Sign-in with a service that is OAuth 2.0 without OpenID Connect. */
export function createPreset(
  egress: Egress,
  name: PresetProvider,
  settings: () => OidcSettings,
): RedirectProvider {
  const { usesPkce, usesBasic, personOf } = ROWS[name]
  return {
    name,
    names: () => settings().names,
    isOpen: () => settings().isOpen,
    prepare: ({ redirectUri, codeVerifier }) =>
      Promise.resolve({ redirectUri, codeVerifier: usesPkce ? codeVerifier : '', nonce: '' }),
    authorizeUrl({ redirectUri, codeVerifier }, state) {
      const current = settings()
      return Promise.resolve(
        authorizationAddress(current, {
          redirect_uri: redirectUri,
          response_type: 'code',
          scope: current.scopes,
          state,
          ...challengeOf(codeVerifier),
        }),
      )
    },
    async personOf(answer, authorization) {
      const exchange = { egress, settings: { ...settings(), usesBasic } }
      const claims = await exchangedClaims(exchange, answer, authorization)
      const person = personOf(claims)
      if (person === null) throw new ExchangeFailure('unclear', 'no id, or a suspended account')
      return { ...person, claims }
    },
  }
}

/** Ids are digits, also as a number. A number that is not exact would be another person's. */
function idOf(value: unknown): string | null {
  const text = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value
  return typeof text === 'string' && /^[1-9]\d{0,19}$/.test(text) ? text : null
}
