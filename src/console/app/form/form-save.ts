import type { UseFormReturnType } from '@mantine/form'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { CallFailure } from '../call-client.ts'
import { toast } from '../toast.ts'
import { useGoToList } from './list-place.tsx'

export interface FormSaveSettings<F> {
  send(form: F): Promise<void>
  /** First part of the query key of the list that shows the change. */
  list: string
  /** What the toast says afterwards. */
  message: string
  /** The list to go to afterwards. */
  to: string
}

/**
 * Saves a form of its own page: busy meanwhile, back to the list after it, the refusal kept to be
 * shown.
 */
export function useFormSave<F>({ send, list, message, to }: FormSaveSettings<F>) {
  const goToList = useGoToList(to)
  const client = useQueryClient()
  const [isBusy, setIsBusy] = useState(false)
  const [failure, setFailure] = useState('')
  async function save(form: F) {
    setIsBusy(true)
    setFailure('')
    try {
      await send(form)
      void client.invalidateQueries({ queryKey: [list] })
      toast.success(message)
      await goToList()
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error
      setFailure(error.message)
    } finally {
      setIsBusy(false)
    }
  }
  return { save, isBusy, failure }
}

/**
 * Handles the submission of a form. The first wrong field is named by a toast too: it may be out of
 * sight.
 */
export const submitOf = <F>(form: UseFormReturnType<F>, save: (values: F) => Promise<void>) =>
  form.onSubmit(
    (values) => void save(values),
    (errors) => toast.warning(Object.values(errors)[0]),
  )
