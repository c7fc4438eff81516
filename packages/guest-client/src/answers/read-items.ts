import type { Readable } from 'node:stream'
import { EngineError } from '@holt/engine'
import type { z } from 'zod'
import { answeredWrongly } from './answered-wrongly.ts'
import { letEnd } from './let-end.ts'

/** The maximum number of bytes of one line: 32 KiB of output as base64, and the frame around it. */
const maxLineBytes = 64 * 1024

/**
 * Reads a stream of NDJSON items of a schema, up to and including the one of type `end`. Throws
 * `EngineError` `unavailable` if the stream ends without `end`, and `wrong_answer` if a line
 * violates the protocol.
 */
export async function* readItems<Item extends { readonly type: string }>(
  body: Readable,
  schema: z.ZodType<Item>,
): AsyncGenerator<Item> {
  let rest = ''
  let complete = false
  body.setEncoding('utf8')
  try {
    for await (const chunk of body.iterator({ destroyOnReturn: false })) {
      // Only the new chunk is searched: a line may arrive in very many pieces.
      const lines = chunk.split('\n')
      lines[0] = rest + lines[0]
      rest = lines.pop() ?? ''
      for (const line of lines) {
        if (line.length > maxLineBytes) throw answeredWrongly('a line is too long')
        const item = parseItem(line, schema)
        complete = item.type === 'end'
        yield item
        if (complete) return
      }
      if (rest.length > maxLineBytes) throw answeredWrongly('a line is too long')
    }
    throw new EngineError('unavailable', 'the guest interrupted a stream')
  } finally {
    if (complete) letEnd(body)
    else body.destroy()
  }
}

function parseItem<Item>(line: string, schema: z.ZodType<Item>): Item {
  try {
    return schema.parse(JSON.parse(line))
  } catch (cause) {
    throw answeredWrongly('an item is not one of the protocol', { cause })
  }
}
