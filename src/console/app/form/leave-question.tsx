import { useBlocker } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import { paths } from '../../paths.ts'

// It shares its frame with a dialog of the sign-in page, which would have to load all forms else.
const LeaveDialog = lazy(async () => ({
  default: (await import('./leave-dialog.tsx')).LeaveDialog,
}))

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
