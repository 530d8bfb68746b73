import {
  presetProviders,
  shownAs,
  type SignInProvider,
} from '../../../contract/option/sign-in-providers.ts'
import { isPreset } from '../../../contract/oauth.ts'
import { withoutTrailing } from '../../../contract/text.ts'
import type { LiveOptions } from '../../option/live-options.ts'
import { PROVIDER_NAMES, type ProviderNames } from './external-provider.ts'

/** Settings of one OpenID Connect or OAuth provider. */
export interface OidcSettings {
  names: ProviderNames
  isOpen: boolean
  clientId: string
  clientSecret: string
  /** Address of the discovery document; may be empty. */
  wellKnown: string
  /** Endpoints override those of the document; empty if not set. */
  authorizationEndpoint: string
  tokenEndpoint: string
  userinfoEndpoint: string
  scopes: string
  /** Only root can change the settings, so the provider is trusted for administrators. */
  isSetByRoot: boolean
}

const OIDC_SCOPES = 'openid profile email'

/** The provider of the options `Oidc…`. */
export const oidcOptions = (options: LiveOptions): OidcSettings => ({
  names: PROVIDER_NAMES.oidc,
  isOpen: options.flag('OidcEnabled') && options.text('OidcClientId') !== '',
  clientId: options.text('OidcClientId'),
  clientSecret: options.text('OidcClientSecret'),
  wellKnown: options.text('OidcWellKnown'),
  authorizationEndpoint: options.text('OidcAuthorizationEndpoint'),
  tokenEndpoint: options.text('OidcTokenEndpoint'),
  userinfoEndpoint: options.text('OidcUserinfoEndpoint'),
  scopes: OIDC_SCOPES,
  isSetByRoot: false,
})

/** A provider of the option `SignInProviders`. */
export function listedSettings(name: string, provider: SignInProvider): OidcSettings {
  const preset = isPreset(name) ? presetProviders[name] : null
  const { title } = shownAs(name, provider)
  return {
    names: { zh: ` ${title} `, en: title },
    isOpen: provider.enabled,
    clientId: provider.client_id,
    clientSecret: provider.client_secret,
    wellKnown: provider.issuer === '' ? '' : wellKnownOf(provider.issuer),
    authorizationEndpoint:
      provider.authorization_endpoint || (preset?.authorization_endpoint ?? ''),
    tokenEndpoint: provider.token_endpoint || (preset?.token_endpoint ?? ''),
    userinfoEndpoint: provider.userinfo_endpoint || (preset?.userinfo_endpoint ?? ''),
    scopes: provider.scopes || (preset?.scopes ?? OIDC_SCOPES),
    isSetByRoot: true,
  }
}

/** An operator may enter the issuer or the address of its document. */
const wellKnownOf = (issuer: string): string =>
  issuer.includes('/.well-known/')
    ? issuer
    : `${withoutTrailing(issuer, '/')}/.well-known/openid-configuration`
