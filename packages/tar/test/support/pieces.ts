/** Yields bytes in pieces of a size, by default all of them at once. */
export async function* piecesOf(bytes: Uint8Array, size = bytes.length): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}
