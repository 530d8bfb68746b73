import { useRouterState } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { isFocusLost, takeLostFocus } from '../../ui/table/focus-after.ts'

/** Waits for the heading of the page in view, which may come after what it is about was loaded. */
function whenHeadingIsThere(act: (heading: HTMLElement) => void): () => void {
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
 * Tells those who do not see it that another page has come: the keyboard goes on at its heading
 * where what it stood at went with the page before, and else the answer is the title to be said.
 */
export function usePageNews(title: string): string {
  // Not where we are heading: the page before is in view until another one is drawn.
  const path = useRouterState({ select: ({ resolvedLocation }) => resolvedLocation?.pathname })
  const [said, setSaid] = useState('')
  const last = useRef(path)
  useEffect(() => {
    const isFirst = last.current === undefined
    if (last.current === path) return undefined
    last.current = path
    if (isFirst) return undefined
    // The heading is read where it takes the focus.
    setSaid(isFocusLost() ? '' : title)
    return whenHeadingIsThere(takeLostFocus)
  }, [path, title])
  return said
}
