import type { ByteQueue } from '../streams/byte-queue.ts'
import type { BodyFraming } from './request-head.ts'

/** The maximum number of bytes of a body that are processed at once. */
const maxPieceBytes = 64 * 1024
/** The maximum number of bytes of a chunk's size with its extensions, which are dropped. */
const maxChunkLine = 256
const maxTrailers = 100
const maxTrailerLine = 8 * 1024

/**
 * Forwards one body with new framing. Trailers are dropped. Returns false if the body ended too
 * early or is not well formed. The forwarded body is then incomplete, and nothing may follow it.
 */
export async function passBody(
  queue: ByteQueue,
  framing: BodyFraming,
  write: (bytes: Buffer) => Promise<void>,
): Promise<boolean> {
  if (framing.type === 'length') return passBytes(queue, framing.bytes, write)
  for (;;) {
    const line = await queue.until('\r\n', maxChunkLine)
    const digits = /^([0-9a-f]{1,12})(?:[\t ]*;[\t\x20-\x7e\x80-\xff]*)?$/i.exec(line?.toString('latin1') ?? '')?.[1]
    if (digits === undefined) return false
    const size = Number.parseInt(digits, 16)
    if (size === 0) break
    await write(Buffer.from(`${size.toString(16)}\r\n`))
    if (!(await passBytes(queue, size, write))) return false
    if ((await queue.until('\r\n', 0)) === null) return false
    await write(Buffer.from('\r\n'))
  }
  for (let trailers = 0; trailers <= maxTrailers; trailers++) {
    const line = await queue.until('\r\n', maxTrailerLine)
    if (line === null) return false
    if (line.length > 0) continue
    await write(Buffer.from('0\r\n\r\n'))
    return true
  }
  return false
}

async function passBytes(queue: ByteQueue, bytes: number, write: (bytes: Buffer) => Promise<void>): Promise<boolean> {
  for (let left = bytes; left > 0; ) {
    const piece = await queue.some(Math.min(left, maxPieceBytes))
    if (piece === null) return false
    await write(piece)
    left -= piece.length
  }
  return true
}
