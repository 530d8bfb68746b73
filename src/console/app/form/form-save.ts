import type { UseFormReturnType } from '@mantine/form'
import { useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { CallFailure } from '../call-client.ts'
import { mark } from '../i18n.ts'
import { toast } from '../toast.ts'
import { useIsHere } from '../routing/pages.ts'
import { useGoToList } from './list-navigation.tsx'

export interface FormSaveSettings<F> {
  /** `mayBeDone`: an earlier attempt got no response, and may have been carried out. */
  /** May return another message. */
  send(form: F, mayBeDone: boolean): Promise<string | void>
  /** Creates a record, so a second attempt may create a duplicate. */
  isNew: boolean
  /** First part of the query key of the list that shows the change. */
  list: string
  /** Toast after saving. */
  message: string
  /** The message contains an instruction, and stays long enough to be read. */
  isInstruction?: boolean
  /** Path of the list to open after saving. */
  to: string
}

const MAY_HAVE_BEEN_CREATED = mark('可能已经创建，再次提交之前请先在列表中确认')

/**
 * Saves a form that has its own page: sets the busy state, returns to the list, and keeps an error
 * for display.
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
      const sent = await send(form, mayBeDone.current)
      void client.invalidateQueries({ queryKey: [list] })
      toast[isInstruction ? 'instruction' : 'success'](sent ?? message)
      isSaved.current = true
      // If the user has left the page meanwhile, they stay where they are.
      if (isHere()) await goToList()
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error
      if (error.isUncertain) mayBeDone.current = true
      if (isNew && error.isUncertain) setDoubt(t(MAY_HAVE_BEEN_CREATED))
      setFailure(error.message)
    } finally {
      setIsBusy(false)
    }
  }
  return { save, isBusy, failure, doubt, isSaved: () => isSaved.current }
}

/**
 * Submit handler of a form. A toast names the first invalid field too, which may be out of view.
 */
export const submitOf = <F>(form: UseFormReturnType<F>, save: (values: F) => Promise<void>) =>
  form.onSubmit(
    (values) => void save(values),
    (errors) => toast.warning(Object.values(errors)[0]),
  )
