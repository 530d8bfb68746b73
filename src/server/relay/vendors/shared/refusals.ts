import type { TooLong } from '../../protocols/dialect/relay-error.ts'

/** An upstream's error as it was sent. */
export interface SaidRefusal {
  status: number
  code: string
  type: string
  message: string
}

/** Meaning of an error. */
export interface Meaning {
  /**
   * Appropriate status: 402 for an unpaid bill, 401 for a wrong key or a closed account, 404 for a
   * missing model, 400 for an invalid request.
   */
  status: number
  /** Replaces the vendor's code and type, which clients would misinterpret. */
  word?: string
  /** The request is longer than the model's context. */
  tooLong?: TooLong
  /** The request alone exceeds what the account may send in a minute; a smaller one is served. */
  isAboveAccountLimit?: true
  /**
   * The client gets the gateway's text: the upstream's message contains details of the operator's
   * account.
   */
  isOurs?: boolean
}

/** Meanings of a vendor's errors that the HTTP status does not express. */
export interface VendorRefusals {
  /** Host names of this vendor, recognized for channels of any type. */
  readonly hosts?: RegExp
  /**
   * Returns the meaning of an error; undefined if the status expresses it. Codes decide. If a
   * vendor has no codes, the beginning of its message decides, since the rest may repeat the
   * client's text.
   */
  meaning(said: SaidRefusal): Meaning | undefined
}

/** Decides by code alone: maps each code to its status. */
export function meaningByCode(
  statuses: Readonly<Record<string, number>>,
): VendorRefusals['meaning'] {
  // A map, because every object has inherited names such as `constructor`.
  const known = new Map(Object.entries(statuses))
  return ({ code }) => {
    const status = known.get(code)
    return status === undefined ? undefined : { status }
  }
}
