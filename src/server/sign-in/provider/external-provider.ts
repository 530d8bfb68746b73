import type { ErrorParams, Language } from '../../../contract/errors.ts'
import type { ExternalProvider, RedirectingProvider } from '../../../contract/oauth.ts'

/** Who somebody is at a provider. Only made from an answer that named an immutable id. */
export interface ExternalPerson {
  /** The provider's immutable id; where an option sets the server, after that server's address. */
  subject: string
  /**
   * Whether nothing but the server named in `subject`, or one that only the operator's process
   * settings name, can produce this subject. If not, whoever changes the options can point us at a
   * server that names anybody.
   */
  isProven: boolean
  /** The key of an identity that an earlier version stored without its server, if it did. */
  unboundSubject?: string
  /**
   * What One API keeps in the user's column: for GitHub the login name, else the provider's id. It
   * finds the person of an adopted row once; afterwards it is display only.
   */
  label: string
  displayName: string
  /** A name the person would like, where the provider has one. */
  username?: string
  /** Not one of which the provider says that it has not verified it. */
  email?: string
}

/** What a trip to a provider was started with. Empty members: the provider was told nothing. */
export interface Trip {
  /** Where the provider sends the person back to. */
  redirectUri: string
  /** PKCE. */
  codeVerifier: string
  /** Comes back inside the identity token. */
  nonce: string
}

/** What came back. */
export interface Return {
  code: string
  state: string
  /** Who says it answered; empty when nobody said. */
  iss: string
}

/** A provider that people are sent to. */
export interface Redirecting {
  name: RedirectingProvider
  isOpen(): boolean
  /** What this provider understands of a new trip; unused members stay empty. */
  prepare(trip: Trip): Promise<Trip>
  authorizeUrl(trip: Trip, state: string): Promise<URL>
  /** Throws an `ExchangeFailure`. */
  personOf(answer: Return, trip: Trip): Promise<ExternalPerson>
}

/**
 * Why no person came out of an exchange. `unreachable`: it did not conclude and may be tried again.
 * `refused`: the provider does not accept the code. `unclear`: it answered something else than it
 * should. `mismatch`: the provider is not the one that the options name. The cause is for the
 * program's own output; nothing of it reaches the person.
 */
export class ExchangeFailure extends Error {
  readonly reason: 'unreachable' | 'refused' | 'unclear' | 'mismatch'

  constructor(reason: ExchangeFailure['reason'], cause?: unknown) {
    super(`the exchange failed: ${reason}`, { cause })
    this.reason = reason
  }
}

const NAMES: Record<ExternalProvider, Record<Language, string>> = {
  github: { zh: ' GitHub ', en: 'GitHub' },
  lark: { zh: '飞书', en: 'Lark' },
  oidc: { zh: ' OIDC ', en: 'OIDC' },
  wechat: { zh: '微信', en: 'WeChat' },
}

/** Fills the `{providerZh}` or `{providerEn}` place of a sentence. */
export function named(provider: ExternalProvider): ErrorParams {
  const { zh, en } = NAMES[provider]
  return { providerZh: zh, providerEn: en }
}

/** Longest id of a person that is believed, in characters. */
const SUBJECT_LENGTH_MAX = 255

/** An id as text, or null when there is none that could be one. */
export const textId = (value: unknown): string | null =>
  typeof value === 'string' && /^[\x21-\x7e]+$/.test(value) && value.length <= SUBJECT_LENGTH_MAX
    ? value
    : null

/** The text of a member, `''` when it is something else. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
