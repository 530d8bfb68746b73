import { type RefObject, useCallback, useLayoutEffect, useRef, useState } from 'react'

/** Rows drawn beyond the edge on each side, so that fast scrolling meets no gap. */
const BEYOND = 10

export interface RowWindow {
  /** For the element that scrolls. */
  ref: RefObject<HTMLElement | null>
  onScroll: () => void
  /** Rows from `first` up to, not including, `end` are drawn. */
  first: number
  end: number
}

/** Which of many rows of one height are in view of their scrolling box. */
export function useRowWindow(count: number, rowHeight: number): RowWindow {
  const ref = useRef<HTMLElement>(null)
  const [span, setSpan] = useState({ first: 0, end: Math.min(count, 3 * BEYOND) })
  const look = useCallback(() => {
    const box = ref.current
    if (box === null) return
    const top = Math.floor(box.scrollTop / rowHeight)
    const inView = Math.ceil(box.clientHeight / rowHeight)
    // In steps: not every pixel is a reason to draw.
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
