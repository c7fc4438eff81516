import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { HoltError } from '../errors.ts'
import { padding, type TarEntry, tarEnd, tarHeader } from '../tar/write-tar.ts'

/** The bytes of one chunk. */
const chunkBytes = 256 * 1024
/** The largest size of a file that is read ahead. */
const smallBytes = 64 * 1024
/** The number of files that are read ahead. */
const ahead = 16

/**
 * Yields entries of a local tree as a tar stream. The tree's own directory is `./`. `onEntry` is
 * called for each written entry.
 */
export async function* archiveOf(
  root: string,
  entries: readonly TarEntry[],
  onEntry: (entry: TarEntry) => void,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined> {
  yield* inChunks(partsOf(root, entries, onEntry))
}

async function* partsOf(
  root: string,
  entries: readonly TarEntry[],
  onEntry: (entry: TarEntry) => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  const loading = new Map<TarEntry, Promise<Buffer>>()
  let next = 0
  for (const entry of entries) {
    for (; next < entries.length && loading.size < ahead; next++) {
      const other = entries[next]
      if (other === undefined || other.type !== 'file' || other.sizeBytes > smallBytes) continue
      const load = readSmall(join(root, other.path), other)
      load.catch(() => undefined) // Whoever comes to this entry sees it.
      loading.set(other, load)
    }
    yield tarHeader(entry.path === '' ? { ...entry, path: '.' } : entry)
    if (entry.type === 'file') {
      const loaded = loading.get(entry)
      loading.delete(entry)
      if (loaded !== undefined) yield await loaded
      else yield* readLarge(join(root, entry.path), entry)
      yield padding(entry.sizeBytes)
    }
    onEntry(entry)
  }
  yield tarEnd
}

async function readSmall(path: string, entry: TarEntry): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of readLarge(path, entry)) parts.push(part)
  return Buffer.concat(parts)
}

/**
 * Yields exactly the counted bytes. Appended data is left out; a file that became shorter ends the
 * archive with an error.
 */
async function* readLarge(path: string, { sizeBytes }: TarEntry): AsyncGenerator<Buffer, void, undefined> {
  const file = await openRegular(path)
  try {
    for (let left = sizeBytes; left > 0; ) {
      const buffer = Buffer.allocUnsafe(Math.min(left, chunkBytes))
      const { bytesRead } = await file.read(buffer, 0, buffer.length, null)
      if (bytesRead === 0) throw new HoltError('conflict', `${path} got shorter while it was sent`)
      left -= bytesRead
      yield buffer.subarray(0, bytesRead)
    }
  } finally {
    await file.close()
  }
}

/** Opens a regular file. A symlink or a FIFO that has replaced the file is not opened. */
async function openRegular(path: string): Promise<FileHandle> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  if ((await file.stat()).isFile()) return file
  await file.close()
  throw new HoltError('conflict', `${path} is no longer a file`)
}

/** Joins small parts into larger chunks, so that there are fewer writes. */
async function* inChunks(parts: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined> {
  let waiting: Uint8Array[] = []
  let size = 0
  for await (const part of parts) {
    waiting.push(part)
    size += part.length
    if (size < chunkBytes) continue
    yield Buffer.concat(waiting)
    waiting = []
    size = 0
  }
  if (size > 0) yield Buffer.concat(waiting)
}
