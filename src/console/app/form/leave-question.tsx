import { useBlocker } from '@tanstack/react-router'
import { Suspense, useEffect } from 'react'
import { useTranslation } from 'react-i18next'
import { paths } from '../../paths.ts'
import { lazyPart } from '../shell/lazy-part.ts'
import type { LeaveDialogProps } from './leave-dialog.tsx'

/** The browser's own question, which needs no file. */
function PlainQuestion({ onStay, onLeave }: LeaveDialogProps) {
  const { t } = useTranslation()
  useEffect(() => {
    // oxlint-disable-next-line no-alert -- what was typed must not be lost for want of a dialog
    if (confirm(`${t('离开此页？')}\n${t('未保存的修改会丢失')}`)) onLeave()
    else onStay()
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- asked once, when it comes up
  }, [])
  return null
}

// It shares its frame with a dialog of the sign-in page, which would have to load all forms else.
const LeaveDialog = lazyPart(
  async () => (await import('./leave-dialog.tsx')).LeaveDialog,
  PlainQuestion,
)

/** Asks before what was typed is lost by going elsewhere, or by closing the window. */
export function LeaveQuestion({ isNeeded }: { isNeeded: () => boolean }) {
  const { status, proceed, reset } = useBlocker({
    // A session that has ended leads to the sign-in page whatever stands here.
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
