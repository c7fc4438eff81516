import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { type Entry, writeTar } from '@holt/tar'
import { HoltError } from '../errors/errors.ts'
import type { LocalEntry } from './local-tree.ts'

/** The bytes of one chunk. */
const chunkBytes = 256 * 1024
/** The largest size of a file that is read ahead. */
const smallBytes = 64 * 1024
/** The number of files that are read ahead. */
const ahead = 16
const nsPerSecond = 1_000_000_000n

/**
 * Yields entries of a local tree as a tar stream. The tree's own directory is `./`. `onEntry` is
 * called for each written entry.
 */
export async function* archiveOf(
  root: string,
  entries: readonly LocalEntry[],
  onEntry: (entry: LocalEntry) => void,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined> {
  yield* inChunks(writeTar(tarEntriesOf(root, entries, onEntry)))
}

async function* tarEntriesOf(
  root: string,
  entries: readonly LocalEntry[],
  onEntry: (entry: LocalEntry) => void,
): AsyncGenerator<Entry, void, undefined> {
  const loading = new Map<LocalEntry, Promise<Buffer>>()
  let next = 0
  for (const entry of entries) {
    for (; next < entries.length && loading.size < ahead; next++) {
      const other = entries[next]
      if (other === undefined || other.type !== 'file' || other.sizeBytes > smallBytes) continue
      const load = readSmall(join(root, other.path), other)
      load.catch(() => undefined) // Whoever comes to this entry sees it.
      loading.set(other, load)
    }
    const loaded = loading.get(entry)
    loading.delete(entry)
    yield tarEntry(entry, loaded === undefined ? readLarge(join(root, entry.path), entry) : whole(loaded))
    onEntry(entry)
  }
}

/** Returns the entry of an archive. Its owner is whoever unpacks it. */
function tarEntry(entry: LocalEntry, body: AsyncIterable<Uint8Array>): Entry {
  const { type, mode, modifiedAtNs, sizeBytes: size, target: linkTarget } = entry
  const path = entry.path === '' ? '.' : entry.path
  const mtimeNanos = Number(((modifiedAtNs % nsPerSecond) + nsPerSecond) % nsPerSecond)
  const mtimeSecs = Number((modifiedAtNs - BigInt(mtimeNanos)) / nsPerSecond)
  const attributes = { path, mode, uid: 0, gid: 0, mtimeSecs, mtimeNanos }
  if (type === 'file') return { ...attributes, type, size, body }
  return type === 'directory' ? { ...attributes, type, path: `${path}/` } : { ...attributes, type, linkTarget }
}

async function* whole(content: Promise<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  yield await content
}

async function readSmall(path: string, entry: LocalEntry): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of readLarge(path, entry)) parts.push(part)
  return Buffer.concat(parts)
}

/**
 * Yields exactly the counted bytes. Appended data is left out; a file that became shorter ends the
 * archive with an error.
 */
async function* readLarge(path: string, { sizeBytes }: LocalEntry): AsyncGenerator<Buffer, void, undefined> {
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
