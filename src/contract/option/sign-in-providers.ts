import { isPreset, type PresetProvider } from '../oauth.ts'

/**
 * The option `SignInProviders`: JSON from a provider's name to its settings. A name of
 * `PRESET_PROVIDERS` is that service, any other an OpenID Connect provider. Names are part of the
 * redirect address and of stored identities.
 */

/** Gives a group or role to everyone whose claim has a value. */
export interface ProviderRule {
  /** Name of the claim; dots lead into objects. */
  claim: string
  /** The claim is this text, number or truth value. */
  equals?: string
  /** The claim is a list with this item, or a text with this word between spaces. */
  contains?: string
  group?: string
  role?: 'admin'
}

export interface SignInProvider {
  /** Shown on the sign-in page. */
  title: string
  /** One or two characters for the button; empty: the first one of the title. */
  icon: string
  color: ProviderColor
  enabled: boolean
  client_id: string
  /** Empty in what the server sends; empty in what it receives keeps the stored one. */
  client_secret: string
  /** Its discovery document describes the endpoints. */
  issuer: string
  authorization_endpoint: string
  token_endpoint: string
  userinfo_endpoint: string
  /** Separated by spaces; empty: the usual ones. */
  scopes: string
  /** Whether rules may make administrators. */
  allow_admin: boolean
  rules: readonly ProviderRule[]
}

export type SignInProviders = ReadonlyMap<string, SignInProvider>

export const PROVIDER_COLORS = ['', 'blue', 'green', 'orange', 'red', 'purple', 'gray'] as const
export type ProviderColor = (typeof PROVIDER_COLORS)[number]

export const emptyProvider: SignInProvider = {
  title: '',
  icon: '',
  color: '',
  enabled: true,
  client_id: '',
  client_secret: '',
  issuer: '',
  authorization_endpoint: '',
  token_endpoint: '',
  userinfo_endpoint: '',
  scopes: '',
  allow_admin: false,
  rules: [],
}

/** Endpoints of services without a discovery document, and how they are shown. */
export const presetProviders: Readonly<
  Record<
    PresetProvider,
    Pick<
      SignInProvider,
      | 'title'
      | 'icon'
      | 'color'
      | 'authorization_endpoint'
      | 'token_endpoint'
      | 'userinfo_endpoint'
      | 'scopes'
    >
  >
> = {
  linuxdo: {
    title: 'LinuxDO',
    icon: 'L',
    color: 'orange',
    authorization_endpoint: 'https://connect.linux.do/oauth2/authorize',
    token_endpoint: 'https://connect.linux.do/oauth2/token',
    userinfo_endpoint: 'https://connect.linux.do/api/user',
    scopes: 'user',
  },
  discord: {
    title: 'Discord',
    icon: 'D',
    color: 'purple',
    authorization_endpoint: 'https://discord.com/oauth2/authorize',
    token_endpoint: 'https://discord.com/api/oauth2/token',
    userinfo_endpoint: 'https://discord.com/api/users/@me',
    scopes: 'identify email',
  },
}

/** Returns title, icon and colour of a provider, with the defaults of a preset. */
export function shownAs(
  name: string,
  { title, icon, color }: SignInProvider,
): Pick<SignInProvider, 'title' | 'icon' | 'color'> {
  const preset = isPreset(name) ? presetProviders[name] : null
  const shown = title || (preset?.title ?? name)
  return {
    title: shown,
    icon: icon || (preset?.icon ?? [...shown].slice(0, 1).join('').toUpperCase()),
    color: color || (preset?.color ?? ''),
  }
}
