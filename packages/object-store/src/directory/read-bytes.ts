import type { FileHandle } from 'node:fs/promises'
import type { ByteRange } from '../contract/object-store.ts'
import { ObjectStoreError } from '../contract/object-store-error.ts'
import { withStoreErrors } from './file-errors.ts'

/** The bytes of one read. */
const pieceBytes = 256 * 1024

interface OpenFile {
  readonly root: string
  readonly file: FileHandle
  readonly key: string
  readonly range: ByteRange
  readonly signal: AbortSignal | undefined
}

/**
 * Reads a range of an open file, and closes the file. A replaced object is read to its end: the
 * file stays. A file that nobody reads is closed when its handle is collected.
 */
export async function* readBytes({ root, file, key, range, signal }: OpenFile): AsyncIterable<Uint8Array> {
  try {
    for (let at = range.start; at < range.end; ) {
      signal?.throwIfAborted()
      const piece = Buffer.allocUnsafe(Math.min(pieceBytes, range.end - at))
      const { bytesRead } = await withStoreErrors(root, key, () => file.read(piece, 0, piece.length, at))
      if (bytesRead === 0) throw new ObjectStoreError('damaged', `${key} became shorter while it was read`)
      yield piece.subarray(0, bytesRead)
      at += bytesRead
    }
  } finally {
    await file.close()
  }
}
