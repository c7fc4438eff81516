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
}

/** What an image begins with. */
export const MAGIC = 0xe0f5e1e2
/** `SB_CHKSUM`: the checksum counts. `MTIME`: the time of an inode is its mtime. No incompatible feature is used. */
const FEATURES_COMPATIBLE = 0x1 | 0x2

/** Block 0 with the superblock. The checksum covers the block from the superblock on, with its own field zero. */
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
  bytes.writeUInt32LE(crc32c(bytes), 4)
  return block
}
