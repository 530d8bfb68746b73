import type { TFunction } from 'i18next'
import { useState } from 'react'

type Sentences<Field extends string> = Partial<Record<Field, string>>

/**
 * Errors of a plain form by field, behaving like all forms: an error disappears when its field
 * changes, and a field with an invalid value is validated when left. Empty fields are reported on
 * submission.
 *
 * `check` returns the errors of a form in the current language.
 */
export function useFieldErrors<Form extends Record<string, string>>(
  check: (form: Form) => ReadonlyMap<keyof Form & string, string>,
) {
  type Field = keyof Form & string
  const [errors, setErrors] = useState<Sentences<Field>>({})
  return {
    errors,
    /** Shows exactly these errors. */
    show: setErrors,
    /** Shows all errors of a submitted form; returns the first one. */
    checkAll: (form: Form): string | undefined => {
      const found = check(form)
      // The keys are those of the form.
      setErrors(Object.fromEntries(found) as Sentences<Field>)
      return found.values().next().value
    },
    changed: (...fields: Field[]) => {
      setErrors((before) => {
        const names: readonly string[] = fields
        const rest = Object.entries(before).filter(([field]) => !names.includes(field))
        // The remaining keys are those of the form.
        return Object.fromEntries(rest) as Sentences<Field>
      })
    },
    left: (form: Form, field: Field) => {
      const sentence = form[field] === '' ? undefined : check(form).get(field)
      if (sentence !== undefined) setErrors((before) => ({ ...before, [field]: sentence }))
    },
  }
}

/** Translates errors by field to the current language. */
export const translateErrors = <Field extends string>(
  errors: ReadonlyMap<Field, string>,
  t: TFunction,
): ReadonlyMap<Field, string> => new Map([...errors].map(([field, text]) => [field, t(text)]))
