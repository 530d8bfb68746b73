import { useBlocker } from '@tanstack/react-router'
import { Suspense, useEffect } from 'react'
import { useTranslation } from 'react-i18next'
import { paths } from '../../paths.ts'
import { lazyPart } from '../shell/lazy-part.ts'
import type { LeaveDialogProps } from './leave-dialog.tsx'

/** Fallback with the browser's own dialog, which needs no further file. */
function PlainQuestion({ onStay, onLeave }: LeaveDialogProps) {
  const { t } = useTranslation()
  useEffect(() => {
    // oxlint-disable-next-line no-alert -- input must not be lost because the dialog did not load
    if (confirm(`${t('离开此页？')}\n${t('未保存的修改会丢失')}`)) onLeave()
    else onStay()
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- ask once, on mount
  }, [])
  return null
}

// Loaded lazily: its frame is shared with a dialog of the sign-in page, which would otherwise load
// all forms.
const LeaveDialog = lazyPart(
  async () => (await import('./leave-dialog.tsx')).LeaveDialog,
  PlainQuestion,
)

/** Asks for confirmation before unsaved input is lost by navigation or closing the window. */
export function LeaveQuestion({ isNeeded }: { isNeeded: () => boolean }) {
  const { status, proceed, reset } = useBlocker({
    // An ended session redirects to the sign-in page without asking.
    shouldBlockFn: ({ next }) => next.pathname !== paths.login && isNeeded(),
    enableBeforeUnload: isNeeded,
    withResolver: true,
  })
  if (status !== 'blocked') return null
  return (
    <Suspense fallback={null}>
      <LeaveDialog onStay={reset} onLeave={proceed} />
    </Suspense>
  )
}
