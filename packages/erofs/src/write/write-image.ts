import { open, rm } from 'node:fs/promises'
import { setImmediate } from 'node:timers/promises'
import type { Entry, FileEntry, StoredContent } from '../entry.ts'
import { ErofsInputError } from '../errors.ts'
import { encodeInode } from '../layout/encode-inode.ts'
import { BLOCK_SIZE, roundUp, SLOT_SIZE } from '../layout/format.ts'
import { encodeDirectoryBlock } from '../layout/pack-directory.ts'
import { type PlacedInode, type Placement, placeInodes } from '../layout/place-inodes.ts'
import { ImageTree } from '../tree/image-tree.ts'
import { abortable } from './abortable.ts'
import type { BlockWriter } from './block-writer.ts'
import { digestFile } from './digest-file.ts'
import { type ImageBase, ImageOutput } from './image-output.ts'

/** Limits and choices of one image. */
export interface WriteImageOptions {
  /** Stops the work, removes the file and throws the signal's reason. */
  readonly signal?: AbortSignal
  /** The maximum number of entries, including implied directories. Default 2,000,000. */
  readonly maxEntries?: number
  /** The maximum size of the image in bytes, including holes. Default 64 GiB. */
  readonly maxBytes?: number
  /**
   * The maximum size of names, symlink targets and extended attributes, which stay in memory, in
   * bytes. Default 256 MiB.
   */
  readonly maxMetadataBytes?: number
  /**
   * The choice to store extended attributes. runsc refuses every inode that has one. Default
   * `keep`.
   */
  readonly xattrs?: 'keep' | 'drop'
  /** The UUID of the image, 16 bytes, and so a part of its digest. Default: all zero. */
  readonly uuid?: Uint8Array
  /**
   * The base of a delta. Content that entries name as `stored` in this image's base is shared with
   * it. All else is stored in the delta.
   */
  readonly base?: ImageBase
}

/** The facts about a written image. */
export interface ImageSummary {
  /** The digest of the whole file. That of a delta covers the digest of its base. */
  readonly digest: `sha256:${string}`
  /**
   * The size that the image would have as a single file, in bytes, including the content that it
   * shares with a base.
   */
  readonly sizeBytes: number
  /** The size of the file in bytes. */
  readonly fileBytes: number
  /** The number of inodes in the image, including the root. Hard links count once. */
  readonly inodes: number
}

const DEFAULT_MAX_ENTRIES = 2_000_000
const DEFAULT_MAX_BYTES = 64 * 2 ** 30
const DEFAULT_MAX_METADATA_BYTES = 256 * 2 ** 20
/** The maximum size of an image in bytes: the format counts blocks in 32 bits. */
const FORMAT_MAX_BYTES = (2 ** 32 - 1) * BLOCK_SIZE
/**
 * The number of entries that are added between two turns of the event loop. Some sources never
 * wait.
 */
const ENTRIES_PER_TURN = 4096
const NIL_UUID = Buffer.alloc(16)

/**
 * Writes one EROFS image to `target`, a path that must not exist. The same entries give the same
 * bytes.
 *
 * When it returns, the content is on the disk, and the caller has to sync the directory. When it
 * throws, there is no file.
 *
 * Content passes through in constant memory. File data is written first, then directories, then
 * inodes. The superblock comes last, so that a truncated file is never taken for an image.
 */
export async function writeImage(
  entries: AsyncIterable<Entry>,
  target: string,
  options: WriteImageOptions = {},
): Promise<ImageSummary> {
  const { signal, uuid = NIL_UUID } = options
  const maxBytes = Math.min(options.maxBytes ?? DEFAULT_MAX_BYTES, FORMAT_MAX_BYTES)
  if (uuid.length !== 16) throw new RangeError('a uuid has 16 bytes')
  signal?.throwIfAborted()
  const handle = await open(target, 'wx+', 0o600)
  const output = new ImageOutput(handle, options.base ?? null)
  const { writer } = output
  try {
    const tree = new ImageTree({
      maxEntries: options.maxEntries ?? DEFAULT_MAX_ENTRIES,
      maxMetadataBytes: options.maxMetadataBytes ?? DEFAULT_MAX_METADATA_BYTES,
      keepXattrs: options.xattrs !== 'drop',
    })
    await storeEntries(abortable(entries, signal), tree, output, { maxBytes, signal })
    const placement = await placeInodes(tree.root, writer.position / BLOCK_SIZE)
    const comingBytes = placement.metadataBlock * BLOCK_SIZE + placement.metadataBytes - writer.position
    refuseOversize(output.aloneBytes + comingBytes, maxBytes, '')
    refuseOversize(writer.position + comingBytes, FORMAT_MAX_BYTES, '')
    signal?.throwIfAborted()
    await storeOwnBlocks(placement, writer)
    signal?.throwIfAborted()
    await storeInodes(placement, writer)
    const { metadataBlock } = placement
    const inodes = placement.inodes.length
    await output.finish({ rootNid: tree.root.offset / SLOT_SIZE, inodes, metadataBlock, uuid })
    const [digest, { size }] = await Promise.all([digestFile(handle, signal), handle.stat(), handle.sync()])
    return { digest, sizeBytes: output.aloneBytes, fileBytes: size, inodes }
  } catch (error) {
    await rm(target, { force: true })
    throw error
  } finally {
    await writer.settle()
    await handle.close()
  }
}

/** Adds all entries to the tree, and stores the content of files as it arrives. */
async function storeEntries(
  entries: AsyncIterable<Entry>,
  tree: ImageTree,
  output: ImageOutput,
  limits: ContentLimits,
): Promise<void> {
  let count = 0
  for await (const entry of entries) {
    count += 1
    if (count % ENTRIES_PER_TURN === 0) await setImmediate()
    const inode = tree.add(entry)
    if (inode === null || entry.type !== 'file') continue
    inode.firstBlock = output.share(entry.size, entry.stored) ?? (await storeContent(entry, output, limits))
    refuseOversize(output.aloneBytes, limits.maxBytes, entry.path)
  }
}

interface ContentLimits {
  readonly maxBytes: number
  readonly signal: AbortSignal | undefined
}

/**
 * Appends the content of a file in blocks of its own, unless the base already has it. Returns the
 * first block.
 */
async function storeContent(
  entry: FileEntry,
  output: ImageOutput,
  { maxBytes, signal }: ContentLimits,
): Promise<number> {
  const { writer } = output
  const start = writer.position
  refuseOversize(output.aloneBytes + entry.size, maxBytes, entry.path)
  refuseOversize(start + entry.size, FORMAT_MAX_BYTES, entry.path)
  if (entry.body !== undefined) {
    let left = entry.size
    let same = findSame(entry, output)
    for await (const chunk of abortable(entry.body, signal)) {
      left -= chunk.length
      if (left < 0) throw new ErofsInputError('size_mismatch', entry.path, `the content is longer than ${entry.size}`)
      if (same !== null && !(await isSame(same, chunk, entry.size - left - chunk.length))) same = null
      const full = writer.write(chunk)
      if (full !== null) await full
    }
    if (same !== null && left === 0) {
      await writer.rewind(start)
      return output.share(entry.size, same) ?? 0
    }
  }
  if (writer.position - start !== entry.size) {
    throw new ErofsInputError('size_mismatch', entry.path, `the content is shorter than ${entry.size} bytes`)
  }
  writer.align(BLOCK_SIZE)
  return entry.size === 0 ? 0 : start / BLOCK_SIZE
}

function findSame({ size, perhapsStored }: FileEntry, output: ImageOutput): StoredContent | null {
  return perhapsStored !== undefined && output.isShareable(size, perhapsStored) ? perhapsStored : null
}

async function isSame({ image, offset }: StoredContent, chunk: Uint8Array, at: number): Promise<boolean> {
  return (await image.read(offset + at, chunk.length)).equals(chunk)
}

function refuseOversize(bytes: number, maxBytes: number, path: Uint8Array | string): void {
  if (roundUp(bytes, BLOCK_SIZE) <= maxBytes) return
  throw new ErofsInputError('image_too_large', path, `the image would be larger than ${maxBytes} bytes`)
}

/** Stores the blocks of directories, and of symlinks that do not fit behind their inodes. */
async function storeOwnBlocks(placement: Placement, writer: BlockWriter): Promise<void> {
  for (const placed of placement.inodes) {
    if (placed.inode.type === 'file') continue
    const blocks = placed.inline ? Math.floor(placed.size / BLOCK_SIZE) : Math.ceil(placed.size / BLOCK_SIZE)
    for (let block = 0; block < blocks; block += 1) {
      await writer.write(contentBlock(placed, block))
      writer.align(BLOCK_SIZE)
    }
  }
}

/** Stores the inodes, each followed by its extended attributes and its inline data. */
async function storeInodes(placement: Placement, writer: BlockWriter): Promise<void> {
  const start = placement.metadataBlock * BLOCK_SIZE
  let ino = 0
  for (const placed of placement.inodes) {
    ino += 1
    await fillUpTo(start + placed.inode.offset, writer)
    const full = writer.write(encodeInode(placed.inode, { size: placed.size, inline: placed.inline, ino }))
    if (full !== null) await full
    if (!placed.inline) continue
    const tail = contentBlock(placed, Math.floor(placed.size / BLOCK_SIZE)).subarray(0, placed.size % BLOCK_SIZE)
    const alsoFull = writer.write(tail)
    if (alsoFull !== null) await alsoFull
  }
  await fillUpTo(start + placement.metadataBytes, writer)
}

/** Writes zeros up to a position that is less than a block ahead. */
async function fillUpTo(position: number, writer: BlockWriter): Promise<void> {
  if (position > writer.position) await writer.write(Buffer.alloc(position - writer.position))
}

/** Returns one block of the content of a directory or a symlink. */
function contentBlock(placed: PlacedInode, block: number): Buffer {
  const { inode, packed } = placed
  if (inode.type === 'directory' && packed !== null) return encodeDirectoryBlock(inode, packed, block)
  return Buffer.from(inode.type === 'symlink' ? inode.target : '', 'latin1')
}
