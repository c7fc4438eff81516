import { createHash } from 'node:crypto'

/** Returns the SHA-256 of a content. */
export async function digestOf(content: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<Buffer> {
  const hash = createHash('sha256')
  for await (const chunk of content) {
    signal.throwIfAborted()
    hash.update(chunk)
  }
  return hash.digest()
}
