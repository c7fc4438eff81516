import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { mergePieces } from '@holt/async'
import { HoltError } from '@holt/protocol'

/**
 * Returns a request's body as a stream. It fails, and does not merely end, if the client breaks off
 * or sends nothing for `quietMs`.
 */
export function uploadBody(request: IncomingMessage, quietMs: number): Readable {
  return mergePieces(Readable.from(chunks(request, quietMs), { objectMode: false, highWaterMark: 256 * 1024 }))
}

async function* chunks(request: IncomingMessage, quietMs: number): AsyncGenerator<Buffer> {
  const onQuiet = () => request.destroy(new HoltError('timeout', `No byte arrived for ${quietMs / 1000} seconds.`))
  const timer = setTimeout(onQuiet, quietMs)
  try {
    // An early end of the loop must not destroy the request. That would detach it from its socket,
    // which nobody would then read or close.
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      timer.refresh()
      yield chunk
      timer.refresh()
    }
    if (!request.complete) throw new HoltError('invalid_request', 'The upload was interrupted.')
  } finally {
    clearTimeout(timer)
  }
}
