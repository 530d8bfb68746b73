import type { UseFormReturnType } from '@mantine/form'
import { useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { CallFailure } from '../call-client.ts'
import { mark } from '../i18n.ts'
import { toast } from '../toast.ts'
import { useIsHere } from '../routing/pages.ts'
import { useGoToList } from './list-place.tsx'

export interface FormSaveSettings<F> {
  /** `mayBeDone`: an attempt before this one came without an answer, and may have been carried out. */
  send(form: F, mayBeDone: boolean): Promise<void>
  /** Something is made, which a second attempt may make twice. */
  isNew: boolean
  /** First part of the query key of the list that shows the change. */
  list: string
  /** What the toast says afterwards. */
  message: string
  /** The message says what to do next: it stays long enough to be read. */
  isInstruction?: boolean
  /** The list to go to afterwards. */
  to: string
}

const MAY_BE_MADE = mark('可能已经创建，再次提交之前请先在列表中确认')

/**
 * Saves a form of its own page: busy meanwhile, back to the list after it, the refusal kept to be
 * shown.
 */
export function useFormSave<F>(settings: FormSaveSettings<F>) {
  const { send, isNew, list, message, isInstruction = false, to } = settings
  const { t } = useTranslation()
  const goToList = useGoToList(to)
  const client = useQueryClient()
  const [isBusy, setIsBusy] = useState(false)
  const [failure, setFailure] = useState('')
  const [doubt, setDoubt] = useState('')
  const mayBeDone = useRef(false)
  const isSaved = useRef(false)
  const isHere = useIsHere()
  async function save(form: F) {
    setIsBusy(true)
    setFailure('')
    setDoubt('')
    try {
      await send(form, mayBeDone.current)
      void client.invalidateQueries({ queryKey: [list] })
      toast[isInstruction ? 'instruction' : 'success'](message)
      isSaved.current = true
      // Who has gone elsewhere meanwhile stays there.
      if (isHere()) await goToList()
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error
      if (error.isUncertain) mayBeDone.current = true
      if (isNew && error.isUncertain) setDoubt(t(MAY_BE_MADE))
      setFailure(error.message)
    } finally {
      setIsBusy(false)
    }
  }
  return { save, isBusy, failure, doubt, isSaved: () => isSaved.current }
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
