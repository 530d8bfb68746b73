import type { ErrorParams, Language } from '../../../contract/errors.ts'
import type { RedirectingProvider } from '../../../contract/oauth.ts'

/** A person at a provider. Only created from a response with an immutable id. */
export interface ExternalPerson {
  /**
   * Immutable id at the provider. If an option sets the server, prefixed with the server's address.
   */
  subject: string
  /**
   * Whether only the server in `subject`, or one set by the process settings, can produce this
   * subject. If not, an account that may change the options could point to a server that reports
   * any identity.
   */
  isProven: boolean
  /** Key under which an earlier version stored the identity without its server, if any. */
  unboundSubject?: string
  /**
   * Value of One API's user column: the login name for GitHub, else the provider's id. It
   * identifies the user of an adopted row once; afterwards it is for display only.
   */
  label: string
  displayName: string
  /** Preferred username, if the provider reports one. */
  username?: string
  /** Omitted if the provider reports it as unverified. */
  email?: string
  /** Everything that the provider reported, for the rules of `SignInProviders`. */
  claims?: Readonly<Record<string, unknown>>
}

/** Parameters of an authorization request. Empty members are not sent to the provider. */
export interface AuthorizationRequest {
  /** Address to which the provider redirects the browser. */
  redirectUri: string
  /** PKCE verifier. */
  codeVerifier: string
  /** Returned in the ID token. */
  nonce: string
}

/** Parameters of the provider's callback. */
export interface AuthorizationResponse {
  code: string
  state: string
  /** Issuer stated in the callback; empty if not stated. */
  iss: string
}

/** A provider that uses a browser redirect. */
export interface RedirectProvider {
  name: RedirectingProvider
  /** Names of the provider in error texts. */
  names(): ProviderNames
  isOpen(): boolean
  /** Returns the parameters that this provider supports; the others stay empty. */
  prepare(authorization: AuthorizationRequest): Promise<AuthorizationRequest>
  authorizeUrl(authorization: AuthorizationRequest, state: string): Promise<URL>
  /** Throws an `ExchangeFailure`. */
  personOf(
    answer: AuthorizationResponse,
    authorization: AuthorizationRequest,
  ): Promise<ExternalPerson>
}

/**
 * Reason why an exchange returned no person. `unreachable`: it was inconclusive and may be retried.
 * `refused`: the provider rejected the code. `unclear`: the response was invalid. `mismatch`: the
 * provider is not the configured one. The cause only goes to the trace, never to the user.
 */
export class ExchangeFailure extends Error {
  readonly reason: 'unreachable' | 'refused' | 'unclear' | 'mismatch'

  constructor(reason: ExchangeFailure['reason'], cause?: unknown) {
    super(`the exchange failed: ${reason}`, { cause })
    this.reason = reason
  }
}

export type ProviderNames = Readonly<Record<Language, string>>

export const PROVIDER_NAMES = {
  github: { zh: ' GitHub ', en: 'GitHub' },
  lark: { zh: '飞书', en: 'Lark' },
  oidc: { zh: ' OIDC ', en: 'OIDC' },
  wechat: { zh: '微信', en: 'WeChat' },
} as const satisfies Record<string, ProviderNames>

/** Parameters for the `{providerZh}` and `{providerEn}` placeholders of error texts. */
export const named = ({ zh, en }: ProviderNames): ErrorParams => ({
  providerZh: zh,
  providerEn: en,
})

/** Maximum length of an accepted id, in characters. */
const SUBJECT_LENGTH_MAX = 255

/** Returns an id as text, or null if it is not a valid id. */
export const textId = (value: unknown): string | null =>
  typeof value === 'string' && /^[\x21-\x7e]+$/.test(value) && value.length <= SUBJECT_LENGTH_MAX
    ? value
    : null

/** Returns a text member, or `''` for any other type. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
