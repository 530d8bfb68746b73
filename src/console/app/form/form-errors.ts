import type { TFunction } from 'i18next'

/** Error of a form field. */
export interface FormError {
  /** Chinese; translated where displayed. */
  text: string
  values?: Record<string, string>
  /** Text of the toast, if different. */
  toast?: string
}

/** Errors by field as `validate` of a form returns them, in the current language. */
export const shownErrors = (
  errors: ReadonlyMap<string, FormError | string>,
  t: TFunction,
): Record<string, string> =>
  Object.fromEntries(
    [...errors].map(([field, error]) => [
      field,
      typeof error === 'string' ? t(error) : t(error.text, error.values ?? {}),
    ]),
  )
