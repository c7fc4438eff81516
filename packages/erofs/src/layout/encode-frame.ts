import { CHUNK_BITS, CHUNK_SIZE, type DeltaLayout, pieceAt, WHOLE_NAME } from './delta-layout.ts'
import { encodeInode } from './encode-inode.ts'
import { BLOCK_SIZE, FORMAT_CHUNKED, INODE_SIZE, roundUp, SLOT_SIZE } from './format.ts'
import type { DirectoryInode, FileInode } from './inode.ts'
import { encodeDirectoryBlock, packDirectory } from './pack-directory.ts'

/** `EROFS_CHUNK_FORMAT_INDEXES`: each chunk names its device and its block. */
const CHUNK_FORMAT_INDEXES = 0x20
const INDEX_SIZE = 8
const PLAIN = { uid: 0, gid: 0, mtimeSecs: 0, mtimeNanos: 0, xattrs: null, firstBlock: 0 } as const
/** The offset of the root inode. Number 0 stays free, as in every image. */
const ROOT_OFFSET = INODE_SIZE

/** The metadata of a delta's frame: a root directory with one file, which is the whole. */
export interface Frame {
  readonly rootNid: number
  readonly inodes: number
  /** The encoded metadata, padded to whole blocks. */
  readonly metadata: Buffer
}

/** Encodes the frame of a delta. `wholeBytes` is the size of its whole. */
export function encodeFrame(layout: DeltaLayout, wholeBytes: number): Frame {
  const root: DirectoryInode = {
    ...PLAIN,
    type: 'directory',
    mode: 0o700,
    nlink: 2,
    offset: ROOT_OFFSET,
    parent: null,
    children: new Map(),
  }
  const whole: FileInode = { ...PLAIN, type: 'file', mode: 0o600, nlink: 1, offset: 0, size: wholeBytes }
  root.children?.set(WHOLE_NAME, whole)
  const packed = packDirectory(root)
  whole.offset = roundUp(ROOT_OFFSET + INODE_SIZE + packed.size, SLOT_SIZE)
  const chunks = Math.ceil(wholeBytes / CHUNK_SIZE)
  const indexStart = whole.offset + INODE_SIZE
  const metadata = Buffer.alloc(roundUp(indexStart + chunks * INDEX_SIZE, BLOCK_SIZE))
  metadata.set(encodeInode(root, { size: packed.size, inline: true, ino: 1 }), ROOT_OFFSET)
  metadata.set(encodeDirectoryBlock(root, packed, 0).subarray(0, packed.size), ROOT_OFFSET + INODE_SIZE)
  metadata.set(encodeInode(whole, { size: wholeBytes, inline: false, ino: 2 }), whole.offset)
  metadata.writeUInt16LE(FORMAT_CHUNKED, whole.offset)
  metadata.writeUInt32LE(CHUNK_BITS | CHUNK_FORMAT_INDEXES, whole.offset + 16)
  for (let chunk = 0; chunk < chunks; chunk += 1) {
    const { file, offset } = pieceAt(layout, chunk * CHUNK_SIZE, CHUNK_SIZE)
    const at = indexStart + chunk * INDEX_SIZE
    metadata.writeUInt16LE(file === 'base' ? 1 : 0, at + 2)
    metadata.writeUInt32LE(offset / BLOCK_SIZE, at + 4)
  }
  return { rootNid: ROOT_OFFSET / SLOT_SIZE, inodes: 2, metadata }
}
