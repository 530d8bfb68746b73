/** Saves a text as a UTF-8 file. */
export function downloadText(fileName: string, text: string): void {
  downloadBlob(fileName, new Blob([text], { type: 'text/plain;charset=utf-8' }))
}

/** Saves bytes as a file. */
export function downloadBlob(fileName: string, blob: Blob): void {
  const address = URL.createObjectURL(blob)
  const link = document.createElement('a')
  link.href = address
  link.download = fileName
  document.body.append(link)
  link.click()
  link.remove()
  // The browser reads the address asynchronously.
  setTimeout(() => URL.revokeObjectURL(address), 60_000)
}
