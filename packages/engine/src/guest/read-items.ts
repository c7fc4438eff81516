import type { Readable } from 'node:stream'
import { EngineError } from '../contract.ts'
import { GuestItem } from './schemas.ts'

/** The most bytes of one line: 32 KiB of output as base64, and the frame around it. */
const maxLineBytes = 64 * 1024

/** How long a stream may take to end after its last item. */
const farewellMs = 1_000

/** Reads a stream of NDJSON items. Throws `EngineError` `unavailable` when it ends without `end`, `failed` when a line is not the protocol's. */
export async function* readItems(body: Readable): AsyncGenerator<GuestItem> {
  let rest = ''
  let complete = false
  body.setEncoding('utf8')
  try {
    for await (const chunk of body.iterator({ destroyOnReturn: false })) {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        const item = parseItem(line)
        complete = item.type === 'end'
        yield item
        if (complete) return
      }
      if (rest.length > maxLineBytes) throw new EngineError('failed', 'the guest sent a line that is too long')
    }
    throw new EngineError('unavailable', 'the guest broke off a stream')
  } finally {
    if (complete) letEnd(body)
    else body.destroy()
  }
}

/**
 * Lets a stream end by itself. Resetting it instead would make the guest's own last frame one for a closed stream, and HTTP/2 sessions end after too many of those.
 */
function letEnd(body: Readable): void {
  const timer = setTimeout(() => body.destroy(), farewellMs)
  body.once('close', () => clearTimeout(timer))
  body.on('error', () => {
    // Everything that was wanted has arrived.
  })
  body.resume()
}

function parseItem(line: string): GuestItem {
  try {
    return GuestItem.parse(JSON.parse(line))
  } catch (cause) {
    throw new EngineError('failed', "the guest sent an item that is not the protocol's", { cause })
  }
}
