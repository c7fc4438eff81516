import { crc32c } from './crc32c.ts'
import { BLOCK_SIZE, BLOCK_SIZE_BITS, SUPERBLOCK_OFFSET } from './format.ts'

/** The facts about a finished image that its superblock states. */
export interface SuperblockFields {
  readonly rootNid: number
  readonly inodes: number
  readonly blocks: number
  readonly metadataBlock: number
  /** 16 bytes. */
  readonly uuid: Uint8Array
  /** Present only in the frame of a delta. */
  readonly base?: BaseFields
}

/** The facts about a base that the frame of a delta states, as an extra device. */
export interface BaseFields {
  /** The SHA-256 of the base's file, as 64 hex digits. */
  readonly sha256: string
  readonly blocks: number
  /** The size that the image would have as a single file, in bytes. */
  readonly aloneBytes: number
}

/** The magic number of EROFS. */
export const MAGIC = 0xe0f5e1e2
/**
 * The compatible features. `SB_CHKSUM`: the checksum is valid. `MTIME`: the time of an inode is its
 * mtime.
 */
const FEATURES_COMPATIBLE = 0x1 | 0x2
/**
 * The incompatible features of a delta's frame: `CHUNKED_FILE` and `DEVICE_TABLE`. Other images use
 * none.
 */
export const FEATURES_OF_DELTA = 0x4 | 0x8
/**
 * The offset in block 0 of the only slot of the device table, behind the superblock (`struct
 * erofs_deviceslot`).
 */
export const DEVICE_SLOT_OFFSET = SUPERBLOCK_OFFSET + 128
const DEVICE_SLOT_SIZE = 128

/**
 * Encodes block 0 with the superblock. The checksum covers the block from the superblock on, with
 * zeros in its own field.
 */
export function encodeSuperblock(fields: SuperblockFields): Buffer {
  const block = Buffer.alloc(BLOCK_SIZE)
  const bytes = block.subarray(SUPERBLOCK_OFFSET)
  bytes.writeUInt32LE(MAGIC, 0)
  bytes.writeUInt32LE(FEATURES_COMPATIBLE, 8)
  bytes.writeUInt8(BLOCK_SIZE_BITS, 12)
  bytes.writeUInt16LE(fields.rootNid, 14)
  bytes.writeBigUInt64LE(BigInt(fields.inodes), 16)
  bytes.writeUInt32LE(fields.blocks, 36)
  bytes.writeUInt32LE(fields.metadataBlock, 40)
  bytes.set(fields.uuid, 48)
  if (fields.base !== undefined) encodeBase(block, fields.base)
  bytes.writeUInt32LE(crc32c(bytes), 4)
  return block
}

function encodeBase(block: Buffer, { sha256, blocks, aloneBytes }: BaseFields): void {
  const bytes = block.subarray(SUPERBLOCK_OFFSET)
  // The field for the name of the volume, which has no other use.
  bytes.writeBigUInt64LE(BigInt(aloneBytes), 64)
  bytes.writeUInt32LE(FEATURES_OF_DELTA, 80)
  bytes.writeUInt16LE(1, 86)
  bytes.writeUInt16LE(DEVICE_SLOT_OFFSET / DEVICE_SLOT_SIZE, 88)
  const slot = block.subarray(DEVICE_SLOT_OFFSET)
  slot.write(sha256, 0, 'latin1')
  slot.writeUInt32LE(blocks, 64)
}
