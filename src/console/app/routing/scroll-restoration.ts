import { useElementScrollRestoration, useRouterState } from '@tanstack/react-router'
import { useEffect } from 'react'

/** After this time, in milliseconds, the reader has settled elsewhere. */
const WAIT_MS = 10_000
/** Events that show that the reader scrolls or navigates. */
const USER_SCROLL_EVENTS = ['wheel', 'touchstart', 'pointerdown', 'keydown'] as const

/** Scrolls to `top` as soon as the page is tall enough, until then as far as possible. */
function scrollWhenTall(top: number): () => void {
  const observer = new ResizeObserver(() => {
    window.scrollTo(0, top)
    if (window.scrollY >= Math.floor(top)) end()
  })
  const timer = setTimeout(() => end(), WAIT_MS)
  function end() {
    observer.disconnect()
    clearTimeout(timer)
    for (const name of USER_SCROLL_EVENTS) removeEventListener(name, end)
  }
  for (const name of USER_SCROLL_EVENTS) addEventListener(name, end, { passive: true })
  observer.observe(document.body)
  return end
}

/**
 * Restores the scroll position after going back or reloading. The router restores it after the
 * first render; long content arrives later, from the server or in deferred steps.
 */
export function useScrollRestoration(): void {
  const visit = useRouterState({ select: ({ resolvedLocation }) => resolvedLocation?.state.key })
  const top = useElementScrollRestoration({ getElement: () => window })?.scrollY ?? 0
  useEffect(() => {
    if (visit === undefined || top <= window.scrollY) return undefined
    return scrollWhenTall(top)
    // Later scrolling within the same visit must not trigger this again.
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- see above
  }, [visit])
}
