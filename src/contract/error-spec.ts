/** A refusal: what it answers, and its sentence in both languages. */
export interface ErrorSpec {
  /** HTTP status on the relay. */
  status: number
  /** The management API answers with `status` too instead of 200. */
  real?: true
  /** Relay member `error.code`, where clients know another word than the name here. */
  code?: string
  /** Seconds after which it is worth trying again: `Retry-After`. */
  retryAfter?: number
  /** Sentences may hold `{name}` places, filled from the error's parameters. */
  zh: string
  en: string
}
