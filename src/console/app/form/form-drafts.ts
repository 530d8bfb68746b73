import { useLocation } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { sessionUser } from '../session.ts'
import { toast } from '../toast.ts'

/**
 * Forms that were being filled in when the session ended. Their values stay in memory until the
 * same user signs in again and returns to the form.
 */
const kept = new Map<string, { userId: number; values: unknown }>()
const inView = new Set<(userId: number) => void>()

/** Must be called before the session is cleared. */
export function saveDrafts(): void {
  const user = sessionUser()
  if (user !== null) for (const keep of inView) keep(user.id)
}

function take(place: string): unknown {
  const found = kept.get(place)
  kept.delete(place)
  return found?.userId === sessionUser()?.id ? found?.values : undefined
}

export interface TypedValues<Values> {
  /** Without passwords and keys, which must be entered again. */
  values: Values
  /** Whether there is input that would be lost. */
  isDirty: boolean
  restore: (values: Values) => void
}

/** Keeps the values of a form when the session ends. `name` distinguishes the forms of one page. */
export function useFormDraft<Values>(typed: TypedValues<Values>, name = ''): void {
  const { t } = useTranslation()
  const place = useLocation({ select: ({ href }) => `${href} ${name}` })
  const latest = useRef(typed)
  useEffect(() => {
    latest.current = typed
  })
  useEffect(() => {
    const values = take(place)
    if (values !== undefined) {
      // The form at this location kept these values, so they have its type.
      latest.current.restore(values as Values)
      toast.info(t('已恢复登录失效前填写的内容，密码和密钥除外'))
    }
    const keep = (userId: number) => {
      if (latest.current.isDirty) kept.set(place, { userId, values: latest.current.values })
    }
    inView.add(keep)
    return () => {
      inView.delete(keep)
    }
  }, [place, t])
}
