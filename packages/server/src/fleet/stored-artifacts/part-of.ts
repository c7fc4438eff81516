/** Returns `length` bytes of a sequence, after the first `skip`. The rest is not read. */
export async function* partOf(
  bytes: AsyncIterable<Uint8Array>,
  { skip, length }: { readonly skip: number; readonly length: number },
): AsyncGenerator<Uint8Array> {
  let [toSkip, left] = [skip, length]
  for await (const piece of bytes) {
    const part = piece.subarray(toSkip, toSkip + left)
    toSkip = Math.max(0, toSkip - piece.length)
    left -= part.length
    if (part.length > 0) yield part
    if (left === 0) return
  }
}
