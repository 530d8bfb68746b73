import { type ComponentType, useEffect, useState } from 'react'
import { loadMissingSheets } from '../routing/missing-files.ts'
import { whenFirstToast } from '../toast.ts'

async function load() {
  await loadMissingSheets()
  return import('./toast-stack.tsx')
}

/**
 * The toast widgets arrive with the first toast, or in an idle moment: a toast may say that the net
 * is gone. If they cannot be loaded, the next toast asks again.
 */
export function Toasts() {
  const [Stack, setStack] = useState<ComponentType | null>(null)
  useEffect(() => {
    whenFirstToast(
      () =>
        void load().then(
          ({ ToastStack }) => setStack(() => ToastStack),
          () => {},
        ),
    )
    const timer = setTimeout(() => void load().catch(() => {}), 2000)
    return () => clearTimeout(timer)
  }, [])
  return Stack === null ? null : <Stack />
}
