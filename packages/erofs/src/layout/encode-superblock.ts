import { crc32c } from './crc32c.ts'
import { BLOCK_SIZE, BLOCK_SIZE_BITS, SUPERBLOCK_OFFSET } from './format.ts'

/** The facts about a finished image that its superblock tells. */
export interface SuperblockFields {
  readonly rootNid: number
  readonly inodes: number
  readonly blocks: number
  readonly metadataBlock: number
  /** 16 bytes. */
  readonly uuid: Uint8Array
  /** Only of the frame of a delta. */
  readonly base?: BaseFields
}

/** What the frame of a delta says about its base, as an extra device. */
export interface BaseFields {
  /** 64 hex digits of the SHA-256 of its file. */
  readonly sha256: string
  readonly blocks: number
  /** Bytes of the image, were it in one file alone. */
  readonly aloneBytes: number
}

/** What an image begins with. */
export const MAGIC = 0xe0f5e1e2
/** `SB_CHKSUM`: the checksum counts. `MTIME`: the time of an inode is its mtime. */
const FEATURES_COMPATIBLE = 0x1 | 0x2
/**
 * `CHUNKED_FILE` and `DEVICE_TABLE`: the incompatible features of a delta's frame. Other images use
 * none.
 */
export const FEATURES_OF_DELTA = 0x4 | 0x8
/**
 * Where the one slot of the device table stands in block 0, behind the superblock (`struct
 * erofs_deviceslot`).
 */
export const DEVICE_SLOT_OFFSET = SUPERBLOCK_OFFSET + 128
const DEVICE_SLOT_SIZE = 128

/**
 * Block 0 with the superblock. The checksum covers the block from the superblock on, with its own
 * field zero.
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
  // The name of the volume, which nothing else uses.
  bytes.writeBigUInt64LE(BigInt(aloneBytes), 64)
  bytes.writeUInt32LE(FEATURES_OF_DELTA, 80)
  bytes.writeUInt16LE(1, 86)
  bytes.writeUInt16LE(DEVICE_SLOT_OFFSET / DEVICE_SLOT_SIZE, 88)
  const slot = block.subarray(DEVICE_SLOT_OFFSET)
  slot.write(sha256, 0, 'latin1')
  slot.writeUInt32LE(blocks, 64)
}
