/** Providers with options of their own, by their names in wire paths. */
export const EXTERNAL_PROVIDERS = ['github', 'lark', 'oidc', 'wechat'] as const

/** Names in the option `SignInProviders` that are no OpenID Connect providers; New API's spelling. */
export const PRESET_PROVIDERS = ['linuxdo', 'discord'] as const
export type PresetProvider = (typeof PRESET_PROVIDERS)[number]

/** Providers of the option `SignInProviders`. */
export type ListedProvider = PresetProvider | `oidc/${string}`

/** Name of a provider in wire paths and of its identities. */
export type ExternalProvider = (typeof EXTERNAL_PROVIDERS)[number] | ListedProvider

/** Providers with options of their own that redirect the browser back with a code and the state. */
export const REDIRECTING_PROVIDERS = ['github', 'lark', 'oidc'] as const
export type RedirectingProvider = (typeof REDIRECTING_PROVIDERS)[number] | ListedProvider

export const isPreset = (name: string): name is PresetProvider =>
  PRESET_PROVIDERS.some((preset) => preset === name)

/** Returns the provider with this name in the option `SignInProviders`. */
export const listedProvider = (name: string): ListedProvider =>
  isPreset(name) ? name : `oidc/${name}`

/** Purposes of a sign-in at a provider. */
export const SIGN_IN_INTENTS = ['login', 'bind'] as const
export type SignInIntent = (typeof SIGN_IN_INTENTS)[number]

/** `message` of a callback that linked an account instead of signing in; clients compare it. */
export const BOUND_MESSAGE = 'bind'
