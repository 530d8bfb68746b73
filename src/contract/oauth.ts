/** Those whose accounts sign people in here, by the name that the wire's paths have. */
export const EXTERNAL_PROVIDERS = ['github', 'lark', 'oidc', 'wechat'] as const
export type ExternalProvider = (typeof EXTERNAL_PROVIDERS)[number]

/** Providers that send the person back with a code and the state. */
export const REDIRECTING_PROVIDERS = ['github', 'lark', 'oidc'] as const
export type RedirectingProvider = (typeof REDIRECTING_PROVIDERS)[number]

/** What a person went to the provider for. */
export const SIGN_IN_INTENTS = ['login', 'bind'] as const
export type SignInIntent = (typeof SIGN_IN_INTENTS)[number]

/** The `message` of a callback that bound an account instead of signing in; clients compare it. */
export const BOUND_MESSAGE = 'bind'
