import { type ComponentType, useEffect, useState } from 'react'
import { loadMissingSheets } from '../routing/missing-files.ts'
import { whenFirstToast } from '../toast.ts'

async function load() {
  await loadMissingSheets()
  return import('./toast-stack.tsx')
}

/**
 * The toast widgets are loaded with the first toast, or earlier when idle, because a toast may
 * report a lost network. If loading fails, the next toast tries again.
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
