import {
  errors,
  errorText,
  type ErrorCode,
  type ErrorParams,
  type Language,
  type Refusal,
} from '../contract/errors.ts'

/** A refusal with a name. `detail` and `cause` are for the program's own output only. */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly params: ErrorParams
  readonly detail: unknown
  /** Members that the answer carries beside the sentence, where the endpoint declares them. */
  extra: Readonly<Record<string, unknown>> = {}

  constructor(code: ErrorCode, params: ErrorParams = {}, detail?: unknown) {
    super(errorText(code, 'en', params))
    this.code = code
    this.params = params
    this.detail = detail
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

/** Throws a refusal that a rule found; null: it found none. */
export function refuse(refusal: Refusal | null): void {
  if (refusal !== null) throw new AppError(refusal.code, refusal.params)
}

/** The value that a rule granted; throws its refusal. */
export function granted<T>(checked: { ok: true; value: T } | { ok: false; refusal: Refusal }): T {
  if (!checked.ok) throw new AppError(checked.refusal.code, checked.refusal.params)
  return checked.value
}
