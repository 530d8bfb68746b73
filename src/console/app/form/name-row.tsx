import { TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { FormRow } from '../../ui/form.tsx'

interface NameRowProps {
  label: string
  /** A new thing wants a name. */
  isNew: boolean
  /**
   * `focusFirst` where typing begins here. Imported here, it would be built into what forms share,
   * and the sign-in page, which needs it too, would load all that.
   */
  fieldRef: ((element: HTMLElement | null) => void) | null
  placeholder: string
  lengthMax?: number
  /** What its form says of the field. */
  input: ReturnType<UseFormReturnType<object>['getInputProps']>
}

/** The first row of a form of something that people name. */
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
