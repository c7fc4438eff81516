import { GatheredBytes } from '@holt/async'
import { ConnectError } from '../errors/connect-error.ts'
import type { MessageRoom } from './read-body.ts'

// Envelopes of Connect streams (connectrpc.com/docs/protocol, "Streaming RPCs"): one byte of flags,
// the length in four bytes (big endian), and the message.

const headBytes = 5

/** The flag of a compressed message. */
const compressed = 0b01

/** The flag of the last envelope of an answer. */
const endOfStream = 0b10

/** Returns the envelope of a message. */
export function messageEnvelope(message: object): Buffer {
  return envelope(0, message)
}

/** Returns the last envelope of an answer. Without `error` the call has succeeded. */
export function endEnvelope(error?: ConnectError): Buffer {
  return envelope(endOfStream, error === undefined ? {} : { error: { code: error.code, message: error.message } })
}

function envelope(flags: number, message: object): Buffer {
  const json = Buffer.from(JSON.stringify(message))
  const head = Buffer.allocUnsafe(headBytes)
  head.writeUInt8(flags, 0)
  head.writeUInt32BE(json.length, 1)
  return Buffer.concat([head, json])
}

/** The bytes of a message for which no room is taken, so that small ones always find some. */
const freeBytes = 16 * 1024

/**
 * Yields the messages in a request's body. Throws `resource_exhausted` for a message that announces
 * more than `maxBytes`, before any of it is kept. Throws `unimplemented` for a compressed one. A
 * message takes room as it arrives, until the next one is asked for.
 */
export async function* readEnvelopes(
  body: AsyncIterable<Uint8Array>,
  { maxBytes, room }: { readonly maxBytes: number; readonly room?: MessageRoom },
): AsyncGenerator<Buffer> {
  const gathered = new GatheredBytes()
  let length: number | null = null
  let takenBytes = 0
  try {
    for await (const chunk of body) {
      for (let at = 0; at < chunk.length || isDone(gathered, length); ) {
        const wanted = length ?? headBytes
        const piece = chunk.subarray(at, at + wanted - gathered.length)
        at += piece.length
        const moreBytes = Math.max(0, gathered.length + piece.length - freeBytes) - takenBytes
        room?.take(moreBytes)
        takenBytes += moreBytes
        gathered.add(piece)
        if (gathered.length < wanted) break
        if (length === null) length = lengthIn(gathered.take(), maxBytes)
        else {
          length = null
          yield gathered.take()
          room?.give(takenBytes)
          takenBytes = 0
        }
      }
    }
  } finally {
    room?.give(takenBytes)
  }
  if (length !== null || gathered.length > 0)
    throw new ConnectError('invalid_argument', 'The body ends in the middle of an envelope.')
}

/** Returns true if no more bytes are needed: the message is empty. */
function isDone(gathered: GatheredBytes, length: number | null): boolean {
  return length !== null && gathered.length >= length
}

function lengthIn(head: Buffer, maxBytes: number): number {
  const flags = head.readUInt8(0)
  const length = head.readUInt32BE(1)
  if ((flags & compressed) !== 0)
    throw new ConnectError('unimplemented', 'Compressed messages are not supported. Send them uncompressed.')
  if (flags !== 0) throw new ConnectError('invalid_argument', `The envelope has unknown flags (${flags}).`)
  if (length > maxBytes)
    throw new ConnectError('resource_exhausted', `A message may have at most ${maxBytes} bytes, not ${length}.`)
  return length
}
