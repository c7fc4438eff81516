import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'

/**
 * The bytes that are read at a time. Hashing one part occupies the event loop for about a
 * millisecond.
 */
const READ_SIZE = 1 << 20

/**
 * Returns `sha256:` and the hex digest of a whole file. The next part is read while one part is
 * hashed.
 */
export async function digestFile(handle: FileHandle, signal?: AbortSignal): Promise<`sha256:${string}`> {
  const hash = createHash('sha256')
  let buffer = Buffer.allocUnsafe(READ_SIZE)
  let spare = Buffer.allocUnsafe(READ_SIZE)
  let offset = 0
  let reading = handle.read(buffer, 0, READ_SIZE, offset)
  for (;;) {
    const { bytesRead } = await reading
    signal?.throwIfAborted()
    if (bytesRead === 0) return `sha256:${hash.digest('hex')}`
    offset += bytesRead
    const part = buffer.subarray(0, bytesRead)
    ;[buffer, spare] = [spare, buffer]
    reading = handle.read(buffer, 0, READ_SIZE, offset)
    hash.update(part)
  }
}
