import { lazy, Suspense, useEffect, useState } from 'react'
import { whenFirstToast } from '../toast.ts'

const load = () => import('./toast-stack.tsx')
const ToastStack = lazy(async () => ({ default: (await load()).ToastStack }))

/**
 * The toast widgets arrive with the first toast, or in an idle moment: a toast may say that the net
 * is gone.
 */
export function Toasts() {
  const [isWanted, setIsWanted] = useState(false)
  useEffect(() => {
    whenFirstToast(() => setIsWanted(true))
    const timer = setTimeout(() => void load(), 2000)
    return () => clearTimeout(timer)
  }, [])
  if (!isWanted) return null
  return (
    <Suspense fallback={null}>
      <ToastStack />
    </Suspense>
  )
}
