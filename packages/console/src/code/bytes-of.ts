/** Returns the bytes of a text in base64; none if it is not base64. Code has written the text. */
export function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))
  } catch {
    return new Uint8Array()
  }
}
