import { useElementScrollRestoration, useRouterState } from '@tanstack/react-router'
import { useEffect } from 'react'

/** Who has waited so long for the rest of a page has found another place in it. */
const WAIT_MS = 10_000
/** Signs that the reader goes somewhere in the page. */
const OWN_WAY = ['wheel', 'touchstart', 'pointerdown', 'keydown'] as const

/** Scrolls down to `top` as soon as the page is tall enough, or as far as it goes. */
function scrollWhenTall(top: number): () => void {
  const observer = new ResizeObserver(() => {
    window.scrollTo(0, top)
    if (window.scrollY >= Math.floor(top)) end()
  })
  const timer = setTimeout(() => end(), WAIT_MS)
  function end() {
    observer.disconnect()
    clearTimeout(timer)
    for (const name of OWN_WAY) removeEventListener(name, end)
  }
  for (const name of OWN_WAY) addEventListener(name, end, { passive: true })
  observer.observe(document.body)
  return end
}

/**
 * Whoever goes back, or loads a page again, is where they were in it. The router scrolls there when
 * it has drawn the page; what is long comes after that, from the server or in steps.
 */
export function useLateScroll(): void {
  const visit = useRouterState({ select: ({ resolvedLocation }) => resolvedLocation?.state.key })
  const top = useElementScrollRestoration({ getElement: () => window })?.scrollY ?? 0
  useEffect(() => {
    if (visit === undefined || top <= window.scrollY) return undefined
    return scrollWhenTall(top)
    // Where the reader scrolls to in this visit is not where to go in it.
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- see above
  }, [visit])
}
