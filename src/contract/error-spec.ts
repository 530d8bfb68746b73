/** An error: its status, and its message in both languages. */
export interface ErrorSpec {
  /** HTTP status of relay endpoints. */
  status: number
  /** The management API also responds with `status`, instead of 200. */
  real?: true
  /**
   * `error.code` of relay responses, where clients expect another value than the name of the error.
   */
  code?: string
  /**
   * `code` of the management API's envelope, for errors to which a console reacts other than by
   * showing the message.
   */
  envelopeCode?: string
  /** Value of the `Retry-After` header, in seconds. */
  retryAfter?: number
  /** The messages may contain `{name}` placeholders, filled from the error's parameters. */
  zh: string
  en: string
}
