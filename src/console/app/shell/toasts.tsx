import { Suspense, useEffect, useState } from 'react'
import { lazyPart } from './lazy-part.ts'
import { whenFirstToast } from '../toast.ts'

const load = () => import('./toast-stack.tsx')
const ToastStack = lazyPart(async () => (await load()).ToastStack)

/**
 * The toast widgets arrive with the first toast, or in an idle moment: a toast may say that the net
 * is gone.
 */
export function Toasts() {
  const [isWanted, setIsWanted] = useState(false)
  useEffect(() => {
    whenFirstToast(() => setIsWanted(true))
    const timer = setTimeout(() => void load().catch(() => {}), 2000)
    return () => clearTimeout(timer)
  }, [])
  if (!isWanted) return null
  return (
    <Suspense fallback={null}>
      <ToastStack />
    </Suspense>
  )
}
