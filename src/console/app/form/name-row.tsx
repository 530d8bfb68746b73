import { TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { FormRow } from '../../ui/form.tsx'

interface NameRowProps {
  label: string
  /** A new record requires a name. */
  isNew: boolean
  /**
   * `focusFirst` if the page begins with this field. Passed in, because an import here would add it
   * to the shared form bundle, which the sign-in page would then load.
   */
  fieldRef: ((element: HTMLElement | null) => void) | null
  placeholder: string
  lengthMax?: number
  /** Input properties from the form. */
  input: ReturnType<UseFormReturnType<object>['getInputProps']>
}

/** First row of a form for a record with a name. */
export function NameRow({ label, isNew, fieldRef, placeholder, lengthMax, input }: NameRowProps) {
  return (
    <FormRow label={label} error={String(input.error ?? '')} isRequired={isNew}>
      {(field) => (
        <TextInput
          {...field}
          ref={fieldRef}
          autoComplete="off"
          maxLength={lengthMax}
          placeholder={placeholder}
          {...input}
          error={field.error}
        />
      )}
    </FormRow>
  )
}
