/**
 * As a `ref`, puts the focus into the first field of a page that is opened in order to type. Only
 * for pages that are nothing but their form.
 */
export function focusFirst(element: HTMLElement | null): void {
  element?.focus()
}
