import { useRouterState } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { isFocusLost, takeLostFocus } from '../../ui/table/focus-after.ts'

/** Calls `act` once the page's heading is rendered, which may happen after its data has loaded. */
function whenHeadingRendered(act: (heading: HTMLElement) => void): () => void {
  const look = () => {
    const heading = document.querySelector<HTMLElement>('main h1')
    if (heading === null) return
    observer.disconnect()
    act(heading)
  }
  const observer = new MutationObserver(look)
  observer.observe(document.body, { subtree: true, childList: true })
  look()
  return () => observer.disconnect()
}

/**
 * Announces a page change to assistive technology: moves the focus to the heading if the focused
 * element is gone, else returns the title for a live region.
 */
export function usePageAnnouncement(title: string): string {
  // The resolved location: the previous page stays visible until the next one is rendered.
  const path = useRouterState({ select: ({ resolvedLocation }) => resolvedLocation?.pathname })
  const [said, setSaid] = useState('')
  const last = useRef(path)
  useEffect(() => {
    const isFirst = last.current === undefined
    if (last.current === path) return undefined
    last.current = path
    if (isFirst) return undefined
    // A heading that receives the focus is read out anyway.
    setSaid(isFocusLost() ? '' : title)
    return whenHeadingRendered(takeLostFocus)
  }, [path, title])
  return said
}
