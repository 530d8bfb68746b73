/** The cell under the pointer tells its whole text as a tooltip while some of it is cut off. */
function showCutText({ target }: MouseEvent): void {
  const cell = target instanceof Element ? target.closest('td') : null
  if (cell === null) return
  cell.title = cell.scrollWidth > cell.clientWidth ? cell.innerText.trim() : ''
}

/** A ref for tables whose cells cut what is too long for their column. */
export function withCutTexts(table: HTMLTableElement | null): () => void {
  table?.addEventListener('mouseover', showCutText)
  return () => table?.removeEventListener('mouseover', showCutText)
}
