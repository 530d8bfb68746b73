import { type RefObject, useCallback, useLayoutEffect, useRef, useState } from 'react'

/** Rows rendered beyond each edge, so that fast scrolling shows no gap. */
const BEYOND = 10

export interface RowWindow {
  /** Ref of the scrolling element. */
  ref: RefObject<HTMLElement | null>
  onScroll: () => void
  /** Rows from `first` up to, not including, `end` are rendered. */
  first: number
  end: number
}

/** Virtualizes rows of equal height: determines which ones are in view. */
export function useRowWindow(count: number, rowHeight: number): RowWindow {
  const ref = useRef<HTMLElement>(null)
  const [span, setSpan] = useState({ first: 0, end: Math.min(count, 3 * BEYOND) })
  const look = useCallback(() => {
    const box = ref.current
    if (box === null) return
    const top = Math.floor(box.scrollTop / rowHeight)
    const inView = Math.ceil(box.clientHeight / rowHeight)
    // In steps, so that not every pixel causes a render.
    const first = Math.max(0, Math.floor((top - BEYOND) / BEYOND) * BEYOND)
    const end = Math.min(count, first + inView + 3 * BEYOND)
    setSpan((now) => (now.first === first && now.end === end ? now : { first, end }))
  }, [count, rowHeight])
  useLayoutEffect(() => {
    look()
    const box = ref.current
    if (box === null) return undefined
    const observer = new ResizeObserver(look)
    observer.observe(box)
    return () => observer.disconnect()
  }, [look])
  return { ref, onScroll: look, first: Math.min(span.first, count), end: Math.min(span.end, count) }
}
