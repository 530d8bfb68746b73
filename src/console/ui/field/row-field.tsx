import { InputWrapperContext } from '@mantine/core'
import { type ReactNode, use } from 'react'

/** Properties that a row passes to its field, so that assistive technology links the two. */
export interface RowField {
  id: string
  error: boolean
  /** Mantine sets it itself, except on password fields. */
  'aria-invalid': true | undefined
  'aria-required': true | undefined
  'aria-describedby': string | undefined
  /** Links Mantine's fields to their description: they drop an `aria-describedby` of ours. */
  inputContainer: (input: ReactNode) => ReactNode
}

interface RowParts {
  /** Id of the field; its hint and error have the ids `…-hint` and `…-error`. */
  id: string
  hasHint: boolean
  hasError: boolean
  isRequired?: boolean
}

export function rowField({ id, hasHint, hasError, isRequired = false }: RowParts): RowField {
  const parts = [...(hasHint ? [`${id}-hint`] : []), ...(hasError ? [`${id}-error`] : [])]
  const described = parts.length === 0 ? undefined : parts.join(' ')
  return {
    id,
    error: hasError,
    'aria-invalid': hasError || undefined,
    'aria-required': isRequired || undefined,
    'aria-describedby': described,
    inputContainer: describedBy(described),
  }
}

/** `inputContainer` for a field that is described by elements with these ids. */
export const describedBy = (ids: string | undefined) => (input: ReactNode) => (
  <Described by={ids}>{input}</Described>
)

function Described({ by, children }: { by: string | undefined; children: ReactNode }) {
  const field = use(InputWrapperContext)
  const ids = [field.describedBy, by].filter((id) => id !== undefined)
  const all = ids.length === 0 ? undefined : ids.join(' ')
  return (
    <InputWrapperContext value={{ ...field, describedBy: all }}>{children}</InputWrapperContext>
  )
}
