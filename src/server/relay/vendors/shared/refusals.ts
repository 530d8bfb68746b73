import type { TooLong } from '../../protocols/dialect/relay-error.ts'

/** An upstream's error as it was sent. */
export interface SaidRefusal {
  status: number
  code: string
  type: string
  message: string
}

/** What an error means. */
export interface Meaning {
  /**
   * The status it should have had: 402 for an unpaid bill, 401 for a wrong key or a closed account,
   * 404 for a model that is missing, 400 for what the request itself is blamed for.
   */
  status: number
  /** In place of the vendor's code and type, which would be understood as something else. */
  word?: string
  /** The request is longer than the model's context. */
  tooLong?: TooLong
  /** The request alone exceeds what the account may send in a minute; a smaller one is served. */
  isAboveAccountLimit?: true
  /** The client gets our words: the upstream's tell of its operator's account. */
  isOurs?: boolean
}

/** What a vendor's errors mean where the HTTP status does not say it. */
export interface VendorRefusals {
  /** Host names at which it is this vendor that answers, whatever the channel's type. */
  readonly hosts?: RegExp
  /**
   * The meaning of an error, undefined if the status says it. Decides by codes; where a vendor has
   * none, by the beginning of its sentence, behind which it may repeat the client's text.
   */
  meaning(said: SaidRefusal): Meaning | undefined
}

/** The meaning by code alone: codes, and the statuses they stand for. */
export function meaningByCode(
  statuses: Readonly<Record<string, number>>,
): VendorRefusals['meaning'] {
  // A map, because every object has names such as `constructor`.
  const known = new Map(Object.entries(statuses))
  return ({ code }) => {
    const status = known.get(code)
    return status === undefined ? undefined : { status }
  }
}
