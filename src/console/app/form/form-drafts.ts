import { useLocation } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { sessionUser } from '../session.ts'
import { toast } from '../toast.ts'
import { mergeEdits } from './merge-edits.ts'

/**
 * Forms that were being filled in when the session ended. Their values stay in memory until the
 * same user signs in again and returns to the form.
 */
const kept = new Map<string, { userId: number; values: object; initial: object }>()
const inView = new Set<(userId: number) => void>()

/** Must be called before the session is cleared. */
export function saveDrafts(): void {
  const user = sessionUser()
  if (user !== null) for (const keep of inView) keep(user.id)
}

function take(place: string): { values: object; initial: object } | undefined {
  const found = kept.get(place)
  kept.delete(place)
  return found?.userId === sessionUser()?.id ? found : undefined
}

export interface TypedValues<Values extends object> {
  /** Without passwords and keys, which must be entered again. */
  values: Values
  /** The values as loaded: fields that still have them take the newly loaded ones on return. */
  initial: Values
  /** Whether there is input that would be lost. */
  isDirty: boolean
  restore: (values: Values) => void
}

/** Keeps the values of a form when the session ends. `name` distinguishes the forms of one page. */
export function useFormDraft<Values extends object>(typed: TypedValues<Values>, name = ''): void {
  const { t } = useTranslation()
  const place = useLocation({ select: ({ href }) => `${href} ${name}` })
  const latest = useRef(typed)
  useEffect(() => {
    latest.current = typed
  })
  useEffect(() => {
    const found = take(place)
    if (found !== undefined) {
      // The form at this location kept these values, so they have its type.
      const { values, initial } = found as Pick<TypedValues<Values>, 'values' | 'initial'>
      latest.current.restore(mergeEdits(values, initial, latest.current.initial))
      toast.info(t('已恢复登录失效前填写的内容，密码和密钥除外'))
    }
    const keep = (userId: number) => {
      const { isDirty, values, initial } = latest.current
      if (isDirty) kept.set(place, { userId, values, initial })
    }
    inView.add(keep)
    return () => {
      inView.delete(keep)
    }
  }, [place, t])
}
