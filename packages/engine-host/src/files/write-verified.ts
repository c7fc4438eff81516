import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { type ArtifactFile, EngineError, type ReadFile, verified } from '@holt/engine'
import { hasCode } from './durable-files.ts'

/** The bytes that are written at once. Pieces from the network are much smaller. */
const BATCH_BYTES = 2 ** 20

/** A file to write, and the source of its content. */
export interface WriteVerified {
  readonly file: ArtifactFile
  readonly read: ReadFile
  readonly mode?: number
}

/**
 * Writes a described file to `path`, which must not exist, and makes its content durable. Rejects
 * with kind `damaged` if the content is not as described, and with `no_space` if the disk is full.
 * The caller removes the file then.
 */
export async function writeVerified(
  path: string,
  { file, read, mode = 0o600 }: WriteVerified,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted()
  try {
    await using handle = await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, mode)
    const batch = new Batch(handle)
    try {
      for await (const bytes of verified(file, read(file, signal))) {
        signal.throwIfAborted()
        await batch.add(bytes)
      }
      await batch.flush()
    } finally {
      await batch.settle()
    }
    await handle.sync()
  } catch (error) {
    if (hasCode(error, 'ENOSPC', 'EDQUOT'))
      throw new EngineError('no_space', `no space for ${file.name}`, { cause: error })
    throw error
  }
}

/** Writes pieces in large batches, one of which is on its way while the next is collected. */
class Batch {
  readonly #handle: FileHandle
  #pieces: Uint8Array[] = []
  #bytes = 0
  #writing: Promise<void> = Promise.resolve()

  constructor(handle: FileHandle) {
    this.#handle = handle
  }

  async add(bytes: Uint8Array): Promise<void> {
    this.#pieces.push(bytes)
    this.#bytes += bytes.length
    if (this.#bytes >= BATCH_BYTES) await this.#begin()
  }

  /** Resolves when everything is written. */
  async flush(): Promise<void> {
    await this.#begin()
    await this.#writing
  }

  /** Resolves when no write is in progress. Never rejects. */
  async settle(): Promise<void> {
    await this.#writing.catch(() => {})
  }

  async #begin(): Promise<void> {
    await this.#writing
    const pieces = this.#pieces
    this.#pieces = []
    this.#bytes = 0
    this.#writing = writeAll(this.#handle, pieces)
    // The next `add` or `flush` rejects with the failure.
    this.#writing.catch(() => {})
  }
}

async function writeAll(handle: FileHandle, pieces: readonly Uint8Array[]): Promise<void> {
  if (pieces.length === 0) return
  const wanted = pieces.reduce((sum, { length }) => sum + length, 0)
  const { bytesWritten } = await handle.writev([...pieces])
  // A full disk takes a part, and the next write has the error.
  if (bytesWritten < wanted) await handle.writeFile(Buffer.concat(pieces).subarray(bytesWritten))
}
