/** Shows the full text of the cell under the pointer as a tooltip if it is truncated. */
function showCutText({ target }: MouseEvent): void {
  const cell = target instanceof Element ? target.closest('td') : null
  if (cell === null) return
  cell.title = cell.scrollWidth > cell.clientWidth ? cell.innerText.trim() : ''
}

/** A ref for tables whose cells truncate long texts. */
export function withCutTexts(table: HTMLTableElement | null): () => void {
  table?.addEventListener('mouseover', showCutText)
  return () => table?.removeEventListener('mouseover', showCutText)
}
