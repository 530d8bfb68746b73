import type { TFunction } from 'i18next'

/** What is wrong with a field of a form. */
export interface FormError {
  /** Chinese; translated where shown. */
  text: string
  values?: Record<string, string>
  /** What the toast says where it is not the same. */
  toast?: string
}

/** Errors by field, as a form takes them from `validate`, in the language that is read. */
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
