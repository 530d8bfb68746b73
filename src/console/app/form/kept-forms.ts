import { useLocation } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { sessionUser } from '../session.ts'
import { toast } from '../toast.ts'

/**
 * Forms that were being filled in when the session ended. Their values wait, in the memory of this
 * page only, until the same user comes back to the form from the sign-in page.
 */
const kept = new Map<string, { userId: number; values: unknown }>()
const inView = new Set<(userId: number) => void>()

/** To be called while it is still known whose session it was. */
export function keepForms(): void {
  const user = sessionUser()
  if (user !== null) for (const keep of inView) keep(user.id)
}

function take(place: string): unknown {
  const found = kept.get(place)
  kept.delete(place)
  return found?.userId === sessionUser()?.id ? found?.values : undefined
}

export interface TypedValues<Values> {
  /** Without passwords and keys: those are typed again. */
  values: Values
  /** Anything typed that would be lost. */
  isDirty: boolean
  restore: (values: Values) => void
}

/** Keeps what is typed over an end of the session. `name` tells forms of one page apart. */
export function useKeptForm<Values>(typed: TypedValues<Values>, name = ''): void {
  const { t } = useTranslation()
  const place = useLocation({ select: ({ href }) => `${href} ${name}` })
  const latest = useRef(typed)
  useEffect(() => {
    latest.current = typed
  })
  useEffect(() => {
    const values = take(place)
    if (values !== undefined) {
      // The form at this place has kept them.
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
