import { createHash, webcrypto } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { EngineError } from '@holt/engine'

/** The size of the parts that are hashed in parallel. Another size gives other digests. */
const PART_BYTES = 2 ** 20

/**
 * The number of parts in progress at once. Node's pool has four threads, which also read files and
 * serve requests.
 */
const PARTS_AT_ONCE = Math.min(3, availableParallelism())

/**
 * Returns the digest of a file: SHA-256 of the SHA-256 of each MiB of it, as hex. The threads of
 * Node's pool hash the parts, so a large file neither blocks the event loop nor is bound to one
 * core. Rejects for a symlink.
 */
export async function digestFile(path: string): Promise<string> {
  await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  const { size } = await file.stat()
  const parts = Math.ceil(size / PART_BYTES)
  const digests = Buffer.alloc(parts * 32)
  let next = 0
  const work = async () => {
    const buffer = Buffer.allocUnsafe(Math.min(PART_BYTES, size))
    while (next < parts) {
      const index = next++
      const start = index * PART_BYTES
      const part = buffer.subarray(0, Math.min(PART_BYTES, size - start))
      await readPart(file, part, start)
      digests.set(new Uint8Array(await webcrypto.subtle.digest('SHA-256', part)), index * 32)
    }
  }
  await Promise.all(Array.from({ length: PARTS_AT_ONCE }, work))
  return createHash('sha256').update(digests).digest('hex')
}

async function readPart(file: FileHandle, part: Uint8Array, start: number): Promise<void> {
  for (let filled = 0; filled < part.length; ) {
    const { bytesRead } = await file.read(part, filled, part.length - filled, start + filled)
    if (bytesRead === 0) throw new EngineError('failed', 'a file became shorter while it was read')
    filled += bytesRead
  }
}
