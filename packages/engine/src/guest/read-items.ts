import type { Readable } from 'node:stream'
import { EngineError } from '../contract.ts'
import { GuestItem } from './schemas.ts'

/** The most bytes of one line: 32 KiB of output as base64, and the frame around it. */
const maxLineBytes = 64 * 1024

/** Reads a stream of NDJSON items. Throws `EngineError` `unavailable` when it ends without `end`, `failed` when a line is not the protocol's. */
export async function* readItems(body: Readable): AsyncGenerator<GuestItem> {
  let rest = ''
  body.setEncoding('utf8')
  for await (const chunk of body) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const item = parseItem(line)
      yield item
      if (item.type === 'end') return
    }
    if (rest.length > maxLineBytes) throw new EngineError('failed', 'the guest sent a line that is too long')
  }
  throw new EngineError('unavailable', 'the guest broke off a stream')
}

function parseItem(line: string): GuestItem {
  try {
    return GuestItem.parse(JSON.parse(line))
  } catch (cause) {
    throw new EngineError('failed', "the guest sent an item that is not the protocol's", { cause })
  }
}
