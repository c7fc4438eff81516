import { createCipheriv, createHash } from 'node:crypto'
import { Readable } from 'node:stream'

const chunkBytes = 1 << 16

/**
 * Bytes that do not compress and that each side can make for itself: the key stream of AES-128 in
 * counter mode with a key and a counter of zeros.
 */
export function knownBytes(bytes: number): Readable {
  return Readable.from(chunksOf(bytes))
}

/** Returns their hash, in hexadecimal. */
export function hashOfKnownBytes(bytes: number): string {
  const hash = createHash('sha256')
  for (const chunk of chunksOf(bytes)) hash.update(chunk)
  return hash.digest('hex')
}

/** The same bytes from a shell that has openssl. */
export function knownBytesCommand(bytes: number): string {
  const zeros = '0'.repeat(32)
  return `head -c ${bytes} /dev/zero | openssl enc -aes-128-ctr -K ${zeros} -iv ${zeros} -nosalt`
}

function* chunksOf(bytes: number): Generator<Buffer> {
  const cipher = createCipheriv('aes-128-ctr', Buffer.alloc(16), Buffer.alloc(16))
  const zeros = Buffer.alloc(chunkBytes)
  for (let left = bytes; left > 0; left -= chunkBytes)
    yield cipher.update(zeros.subarray(0, Math.min(left, chunkBytes)))
}
