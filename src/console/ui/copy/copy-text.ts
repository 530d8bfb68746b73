import styles from './copy-text.module.css'

/** Puts a text on the clipboard; false when the browser does not let us. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    // Pages without TLS have no clipboard object, but may still copy what is selected.
    return copySelected(text)
  }
}

function copySelected(text: string): boolean {
  const field = document.createElement('textarea')
  field.value = text
  field.className = styles['offscreen'] ?? ''
  // Beside what has the focus: a focus trap would take it back from anywhere else.
  const focused = document.activeElement
  const place = focused?.parentElement ?? document.body
  place.append(field)
  field.select()
  try {
    return document.execCommand('copy')
  } catch {
    return false
  } finally {
    field.remove()
    if (focused instanceof HTMLElement) focused.focus({ preventScroll: true })
  }
}
