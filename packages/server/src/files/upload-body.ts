import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { HoltError } from '@holt/protocol'
import { mergePieces } from '@holt/streams'

/** An upload that sends nothing for this long is given up. */
const idleMs = 60_000

/** A request's bytes as a stream that fails, and does not merely end, where the client breaks off or falls silent. */
export function uploadBody(request: IncomingMessage): Readable {
  return mergePieces(Readable.from(chunks(request), { objectMode: false, highWaterMark: 256 * 1024 }))
}

async function* chunks(request: IncomingMessage): AsyncGenerator<Buffer> {
  const onIdle = () => request.destroy(new HoltError('timeout', `Nothing arrived for ${idleMs / 1000} seconds.`))
  const timer = setTimeout(onIdle, idleMs)
  try {
    // Leaving the loop early must not destroy the request: that would cut it from its socket, which then nobody reads or closes.
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      timer.refresh()
      yield chunk
      timer.refresh()
    }
    if (!request.complete) throw new HoltError('invalid_request', 'The upload broke off.')
  } finally {
    clearTimeout(timer)
  }
}
