/** A `ref` that focuses the first field of a page. Only for pages that consist of a form. */
export function focusFirst(element: HTMLElement | null): void {
  element?.focus()
}
