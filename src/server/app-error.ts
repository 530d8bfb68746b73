import {
  errors,
  errorText,
  type ErrorCode,
  type ErrorParams,
  type Language,
  type Refusal,
} from '../contract/errors.ts'

/** An expected error with a code. `detail` and `cause` only go to the trace. */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly params: ErrorParams
  readonly detail: unknown
  /** Additional members of the response, if the endpoint declares them. */
  extra: Readonly<Record<string, unknown>> = {}

  constructor(code: ErrorCode, params: ErrorParams = {}, detail?: unknown) {
    super(errorText(code, 'en', params))
    this.code = code
    this.params = params
    this.detail = detail
  }

  /** The account that the caller tried to use, for the audit. */
  account: { id: number; username: string } | null = null

  about(account: { id: number; username: string } | null | undefined): this {
    this.account = account ?? null
    return this
  }

  with(extra: Readonly<Record<string, unknown>>): this {
    this.extra = extra
    return this
  }

  text(language: Language): string {
    return errorText(this.code, language, this.params)
  }

  get status(): number {
    return errors[this.code].status
  }
}

/** Throws the refusal of a rule; does nothing for null. */
export function refuse(refusal: Refusal | null): void {
  if (refusal !== null) throw new AppError(refusal.code, refusal.params)
}

/** Returns the value of a successful check; throws its refusal otherwise. */
export function granted<T>(checked: { ok: true; value: T } | { ok: false; refusal: Refusal }): T {
  if (!checked.ok) throw new AppError(checked.refusal.code, checked.refusal.params)
  return checked.value
}
