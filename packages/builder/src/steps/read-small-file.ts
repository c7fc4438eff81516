import type { GuestClient } from '@holt/guest-client'
import { HoltError } from '@holt/protocol'

/** The maximum number of bytes read, enough for /etc/passwd of a large system. */
const MAX_BYTES = 2 ** 20

/** Returns the beginning of a file as text, or null if the file is missing or empty. */
export async function readSmallFile(guest: GuestClient, path: string, signal: AbortSignal): Promise<string | null> {
  try {
    const { body } = await guest.content.read({ path, range: `bytes=0-${MAX_BYTES - 1}` }, signal)
    const chunks: Buffer[] = []
    let bytes = 0
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes >= MAX_BYTES) break
    }
    return Buffer.concat(chunks).subarray(0, MAX_BYTES).toString('utf8')
  } catch (error) {
    // An empty file has no range at all.
    if (error instanceof HoltError && ['path_not_found', 'range_not_satisfiable'].includes(error.code)) return null
    throw error
  }
}
