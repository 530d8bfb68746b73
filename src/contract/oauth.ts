/** External sign-in providers, by their names in wire paths. */
export const EXTERNAL_PROVIDERS = ['github', 'lark', 'oidc', 'wechat'] as const
export type ExternalProvider = (typeof EXTERNAL_PROVIDERS)[number]

/** Providers that redirect the browser back with a code and the state. */
export const REDIRECTING_PROVIDERS = ['github', 'lark', 'oidc'] as const
export type RedirectingProvider = (typeof REDIRECTING_PROVIDERS)[number]

/** Purposes of a sign-in at a provider. */
export const SIGN_IN_INTENTS = ['login', 'bind'] as const
export type SignInIntent = (typeof SIGN_IN_INTENTS)[number]

/** `message` of a callback that linked an account instead of signing in; clients compare it. */
export const BOUND_MESSAGE = 'bind'
