/**
 * Cuts a sequence into pieces of the sizes that `sizeOf` returns for their numbers, from 0. The
 * last piece may be smaller. No bytes are no piece.
 */
export async function* piecesOfSizes(
  bytes: AsyncIterable<Uint8Array>,
  sizeOf: (index: number) => number,
): AsyncGenerator<Uint8Array> {
  let index = 0
  let piece = Buffer.allocUnsafe(Math.max(1, sizeOf(index)))
  let filled = 0
  for await (const part of bytes) {
    for (let at = 0; at < part.length; ) {
      const taken = part.subarray(at, at + piece.length - filled)
      piece.set(taken, filled)
      filled += taken.length
      at += taken.length
      if (filled < piece.length) continue
      yield piece
      index += 1
      piece = Buffer.allocUnsafe(Math.max(1, sizeOf(index)))
      filled = 0
    }
  }
  if (filled > 0) yield piece.subarray(0, filled)
}
