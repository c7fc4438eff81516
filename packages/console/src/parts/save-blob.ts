/** The time until the bytes of a saved file are given up, in milliseconds. */
const keepMs = 60_000

/** Lets the browser save a text or bytes as a file. */
export function saveBlob(name: string, content: Blob | string): void {
  // Bytes without a type are never opened as a page of this origin.
  const address = URL.createObjectURL(new Blob([content], { type: 'application/octet-stream' }))
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(address), keepMs)
}
