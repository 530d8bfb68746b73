import { type RefObject, useEffect, useRef } from 'react'

/** Puts the keyboard at something that cannot be reached by it alone. */
export function focusOn(element: HTMLElement): void {
  element.tabIndex = -1
  element.focus({ preventScroll: true })
}

/** Whether what had the focus is gone, or nothing has had it yet. */
export const isFocusLost = (): boolean =>
  document.activeElement === null || document.activeElement === document.body

/** As a `ref`: takes the place of a button that was pressed and is gone. */
export function takeLostFocus(element: HTMLElement | null): void {
  if (element !== null && isFocusLost()) focusOn(element)
}

/** As a `ref` of what goes when it is pressed: the list or the filters it stood in go on with it. */
export function leaveFocusBehind(element: HTMLElement | null): (() => void) | undefined {
  const around = element?.closest<HTMLElement>('section, search')
  if (element === null || around === null || around === undefined) return undefined
  return () => {
    if (element.contains(document.activeElement)) focusOn(around)
  }
}

/**
 * How to go on at the place of a row when it is gone: at the one that has come there, or at the
 * list.
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
 * Keeps the keyboard at its place in a list when a button goes away with its row. To be called
 * before the row goes.
 */
export function useFocusAfter(button: RefObject<HTMLElement | null>): () => void {
  const goOn = useRef<(() => void) | null>(null)
  useEffect(() => () => goOn.current?.(), [])
  return () => {
    const row = button.current?.closest('tr, li') ?? null
    goOn.current = row === null ? null : goOnAt(row)
  }
}
