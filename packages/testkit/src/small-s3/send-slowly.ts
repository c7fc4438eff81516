import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import type { S3Faults } from './s3-faults.ts'

/** Sends the bytes of an object, as badly as the faults say. */
export async function sendSlowly(response: ServerResponse, bytes: Buffer, faults: S3Faults): Promise<void> {
  const body = faults.flipsBit && bytes.length > 0 ? flipped(bytes) : bytes
  const most = faults.breaksAfterBytes ?? Number.POSITIVE_INFINITY
  for (let at = 0; at < body.length && !response.destroyed; ) {
    if (at >= most) return void response.socket?.destroy()
    const rate = faults.bytesPerSecond
    const piece = body.subarray(at, Math.min(at + (rate === null ? 65_536 : Math.ceil(rate / 20)), most))
    at += piece.length
    if (!response.write(piece)) await drained(response)
    if (rate !== null) await pause(50)
  }
  response.end()
}

/** Waits until the client has read, or has left. */
async function drained(response: ServerResponse): Promise<void> {
  const over = new AbortController()
  const options = { signal: over.signal }
  const ends = ['drain', 'close'].map((event) => once(response, event, options).catch(() => null)) // The other came.
  await Promise.race(ends)
  over.abort()
}

/** Returns the bytes with one bit of the middle flipped. */
function flipped(bytes: Buffer): Buffer {
  const changed = Buffer.from(bytes)
  const middle = changed.length >> 1
  changed[middle] = (changed[middle] ?? 0) ^ 0b100
  return changed
}
