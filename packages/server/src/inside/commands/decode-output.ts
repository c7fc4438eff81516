import type { GuestItem } from '@holt/guest-client'
import type { Command, Id, OutputItem } from '@holt/protocol'
import { moment } from '../../foundation/store/moment.ts'

type Stream = 'stdout' | 'stderr'

/** The item that ends the output of a command. */
export type GuestExit = Extract<GuestItem, { type: 'exit' }>

/** Returns the item that clients get. The times are in the command that it carries. */
export function withoutTimes({
  started_at_ms: _started,
  ended_at_ms: _ended,
  ...exit
}: GuestExit): Omit<GuestExit, 'started_at_ms' | 'ended_at_ms'> {
  return exit
}

/** The bytes at the end of a chunk that begin an incomplete character. */
interface Held {
  readonly stream: Stream
  readonly bytes: Buffer
}

/**
 * Converts a guest's items to the API's. Bytes become text if they are UTF-8. A character that is
 * split between two chunks of a stream is joined. An item's cursor counts only delivered bytes, so
 * a client that resumes there loses nothing. `finalState` gives the state that `exit` carries, or
 * undefined if it is not known.
 */
export async function* decodeOutput(
  items: AsyncIterable<GuestItem>,
  commandId: Id<'command'>,
  finalState: (exit: GuestExit) => Promise<Command | undefined>,
): AsyncGenerator<OutputItem> {
  let held: Held | null = null
  let at = 0
  for await (const item of items) {
    if (!('data' in item)) {
      if (held !== null) yield base64Item(held.stream, at, held.bytes)
      held = null
      if (item.type === 'start') yield { ...item, command_id: commandId }
      else if (item.type === 'exit') {
        const command = await finalState(item)
        const exit = withoutTimes(item)
        yield command === undefined ? exit : { ...exit, command }
      } else yield item
      continue
    }
    const { type } = item
    if (held !== null && held.stream !== type) {
      yield base64Item(held.stream, at, held.bytes)
      held = null
    }
    const bytes: Buffer = Buffer.concat([...(held === null ? [] : [held.bytes]), Buffer.from(item.data, 'base64')])
    const cut = bytes.length - incompleteTail(bytes)
    at = item.cursor
    held = cut === bytes.length ? null : { stream: type, bytes: bytes.subarray(cut) }
    const read = item.at_ms === undefined ? {} : { at: moment(item.at_ms) }
    if (cut > 0) yield { ...textItem(type, at - (bytes.length - cut), bytes.subarray(0, cut)), ...read }
  }
}

/** Returns how many bytes at the end begin an incomplete UTF-8 character (RFC 3629), or 0. */
export function incompleteTail(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0
    if ((byte & 0xc0) === 0x80) continue
    const length =
      byte >= 0xf0 && byte < 0xf5 ? 4 : byte >= 0xe0 && byte < 0xf0 ? 3 : byte >= 0xc2 && byte < 0xe0 ? 2 : 1
    return length > back ? back : 0
  }
  return 0
}

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function textItem(type: Stream, cursor: number, bytes: Buffer): OutputItem {
  try {
    return { type, cursor, data: strict.decode(bytes), encoding: 'utf-8' }
  } catch {
    return base64Item(type, cursor, bytes) // The bytes are not text.
  }
}

function base64Item(type: Stream, cursor: number, bytes: Buffer): OutputItem {
  return { type, cursor, data: bytes.toString('base64'), encoding: 'base64' }
}
