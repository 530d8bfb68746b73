import { type RefObject, useEffect, useRef } from 'react'

/** Focuses an element that is not in the tab order. */
export function focusOn(element: HTMLElement): void {
  element.tabIndex = -1
  element.focus({ preventScroll: true })
}

/** Whether the focused element is gone, or none has been focused yet. */
export const isFocusLost = (): boolean =>
  document.activeElement === null || document.activeElement === document.body

/** A `ref` that takes the focus of a button that was removed when it was clicked. */
export function takeLostFocus(element: HTMLElement | null): void {
  if (element !== null && isFocusLost()) focusOn(element)
}

/** A `ref` for a button that disappears on click: moves the focus to its list or filters. */
export function leaveFocusBehind(element: HTMLElement | null): (() => void) | undefined {
  const around = element?.closest<HTMLElement>('section, search')
  if (element === null || around === null || around === undefined) return undefined
  return () => {
    if (element.contains(document.activeElement)) focusOn(around)
  }
}

/**
 * Returns a function that restores the focus after a row is removed: to the row that took its
 * place, or to the list.
 */
function goOnAt(row: Element): () => void {
  const rows = row.parentElement
  const list = row.closest('section')
  const place = [...(rows?.children ?? [])].indexOf(row)
  return () => {
    const next = rows?.isConnected === true ? (rows.children[place] ?? rows.lastElementChild) : null
    const target = next ?? list
    if (isFocusLost() && target instanceof HTMLElement) focusOn(target)
  }
}

/**
 * Keeps the focus position in a list when a button is removed with its row. Must be called before
 * the row is removed.
 */
export function useFocusAfter(button: RefObject<HTMLElement | null>): () => void {
  const goOn = useRef<(() => void) | null>(null)
  useEffect(() => () => goOn.current?.(), [])
  return () => {
    const row = button.current?.closest('tr, li') ?? null
    goOn.current = row === null ? null : goOnAt(row)
  }
}
