import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { CallFailure } from '../call-client.ts'
import { toast } from '../toast.ts'

export interface FormSaveSettings<F> {
  send(form: F): Promise<void>
  /** First part of the query key of the list that shows the change. */
  list: string
  /** What the toast says afterwards. */
  message: string
  /** Where to go afterwards. */
  to: string
}

/**
 * Saves a form of its own page: busy meanwhile, back to the list after it, the refusal kept to be
 * shown.
 */
export function useFormSave<F>({ send, list, message, to }: FormSaveSettings<F>) {
  const navigate = useNavigate()
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
      await navigate({ to })
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error
      setFailure(error.message)
    } finally {
      setIsBusy(false)
    }
  }
  return { save, isBusy, failure }
}
