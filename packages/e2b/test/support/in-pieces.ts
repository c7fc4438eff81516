/** Yields bytes in pieces of the given sizes, and then the rest. */
export async function* inPieces(bytes: Buffer, sizes: readonly number[]): AsyncGenerator<Buffer> {
  let at = 0
  for (const size of sizes) {
    yield bytes.subarray(at, at + size)
    at += size
  }
  if (at < bytes.length) yield bytes.subarray(at)
}
