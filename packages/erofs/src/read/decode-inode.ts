import {
  BLOCK_SIZE,
  FILE_TYPES,
  FORMAT_FLAT_INLINE,
  FORMAT_FLAT_PLAIN,
  INODE_SIZE,
  SLOT_SIZE,
} from '../layout/format.ts'
import { decodeXattrs } from './decode-xattrs.ts'
import type { ImageFile } from './image-file.ts'
import { malformed } from './malformed.ts'

/** An inode of an image, with checked offsets. */
export interface ImageInode {
  readonly nid: number
  readonly type: keyof typeof FILE_TYPES
  readonly mode: number
  readonly uid: number
  readonly gid: number
  readonly mtimeSecs: number
  readonly mtimeNanos: number
  readonly nlink: number
  /** The bytes of content. */
  readonly size: number
  /** The offset of the whole blocks in bytes. Meaningless if there are none. */
  readonly dataOffset: number
  /** The offset of the last partial block if it is right behind the inode, else null. */
  readonly inlineOffset: number | null
  /** The device number of a device. */
  readonly rdev: { readonly major: number; readonly minor: number }
  readonly xattrs: ReadonlyMap<string, Uint8Array> | null
}

const TYPES: ReadonlyMap<number, keyof typeof FILE_TYPES> = new Map(
  Object.entries(FILE_TYPES).map(([type, { mode }]) => [mode, type as keyof typeof FILE_TYPES]),
)
const XATTR_HEADER = 12

/** Reads the extended inode with this number. */
export async function readInode(file: ImageFile, nid: number): Promise<ImageInode> {
  const offset = file.metadataOffset + nid * SLOT_SIZE
  const bytes = await file.read(offset, INODE_SIZE)
  const format = bytes.readUInt16LE(0)
  if (format !== FORMAT_FLAT_PLAIN && format !== FORMAT_FLAT_INLINE)
    throw malformed(`inode ${nid} has format ${format}`)
  const mode = bytes.readUInt16LE(4)
  const type = TYPES.get(mode & 0o170000)
  if (type === undefined) throw malformed(`inode ${nid} has the mode ${mode.toString(8)}`)
  const size = Number(bytes.readBigUInt64LE(8))
  const field = bytes.readUInt32LE(16)
  const count = bytes.readUInt16LE(2)
  const xattrBytes = count === 0 ? 0 : XATTR_HEADER + (count - 1) * 4
  const dataOffset = field * BLOCK_SIZE
  const tail = format === FORMAT_FLAT_INLINE ? size % BLOCK_SIZE : 0
  const inlineOffset = tail > 0 ? offset + INODE_SIZE + xattrBytes : null
  const holdsData = type === 'file' || type === 'directory' || type === 'symlink'
  if (holdsData && !fits(file, { size, tail, dataOffset, inlineOffset }))
    throw malformed(`inode ${nid} has data past the end`)
  return {
    nid,
    type,
    mode: mode & 0o7777,
    uid: bytes.readUInt32LE(24),
    gid: bytes.readUInt32LE(28),
    mtimeSecs: Number(bytes.readBigInt64LE(32)),
    mtimeNanos: bytes.readUInt32LE(40),
    nlink: bytes.readUInt32LE(44),
    size: holdsData ? size : 0,
    dataOffset,
    inlineOffset,
    rdev: { major: (field >>> 8) & 0xfff, minor: (field & 0xff) | ((field >>> 12) & 0xfff00) },
    xattrs: xattrBytes === 0 ? null : decodeXattrs(await file.read(offset + INODE_SIZE, xattrBytes)),
  }
}

function fits(
  file: ImageFile,
  {
    size,
    tail,
    dataOffset,
    inlineOffset,
  }: { size: number; tail: number; dataOffset: number; inlineOffset: number | null },
): boolean {
  if (!Number.isSafeInteger(size)) return false
  return dataOffset + size - tail <= file.sizeBytes && (inlineOffset === null || inlineOffset + tail <= file.sizeBytes)
}

/**
 * Returns the content of a directory or a symlink. Throws if it has more than `maxBytes`, the limit
 * of the writer.
 */
export async function readSmallContent(file: ImageFile, inode: ImageInode, maxBytes: number): Promise<Buffer> {
  if (inode.size > maxBytes) throw malformed(`inode ${inode.nid} has ${inode.size} bytes`)
  const tail = inode.inlineOffset === null ? 0 : inode.size % BLOCK_SIZE
  const parts = [await file.read(inode.dataOffset, inode.size - tail)]
  if (inode.inlineOffset !== null) parts.push(await file.read(inode.inlineOffset, tail))
  return Buffer.concat(parts)
}
