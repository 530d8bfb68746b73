import type { TFunction } from 'i18next'
import { useState } from 'react'

type Sentences<Field extends string> = Partial<Record<Field, string>>

/**
 * Errors of a plain form, by field, with the behaviour of all forms: a sentence goes when its field
 * is changed, and a field that is left with something wrong in it says so. Empty fields are named
 * when the form is sent.
 *
 * `check` returns what is wrong with a form, in the language that is read.
 */
export function useFieldErrors<Form extends Record<string, string>>(
  check: (form: Form) => ReadonlyMap<keyof Form & string, string>,
) {
  type Field = keyof Form & string
  const [errors, setErrors] = useState<Sentences<Field>>({})
  return {
    errors,
    /** Shows these sentences and no others. */
    show: setErrors,
    /** Shows all that is wrong with a form that is sent; returns the first sentence. */
    checkAll: (form: Form): string | undefined => {
      const found = check(form)
      // The members are those of the form.
      setErrors(Object.fromEntries(found) as Sentences<Field>)
      return found.values().next().value
    },
    changed: (...fields: Field[]) => {
      setErrors((before) => {
        const names: readonly string[] = fields
        const rest = Object.entries(before).filter(([field]) => !names.includes(field))
        // As above.
        return Object.fromEntries(rest) as Sentences<Field>
      })
    },
    left: (form: Form, field: Field) => {
      const sentence = form[field] === '' ? undefined : check(form).get(field)
      if (sentence !== undefined) setErrors((before) => ({ ...before, [field]: sentence }))
    },
  }
}

/** Sentences by field in the language that is read. */
export const inWords = <Field extends string>(
  errors: ReadonlyMap<Field, string>,
  t: TFunction,
): ReadonlyMap<Field, string> => new Map([...errors].map(([field, text]) => [field, t(text)]))
