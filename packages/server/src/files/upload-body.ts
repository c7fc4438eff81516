import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { HoltError } from '@holt/protocol'
import { mergePieces } from '@holt/streams'

/**
 * A request's bytes as a stream that fails, and does not merely end, where the client breaks off or
 * sends nothing for `quietMs`.
 */
export function uploadBody(request: IncomingMessage, quietMs: number): Readable {
  return mergePieces(Readable.from(chunks(request, quietMs), { objectMode: false, highWaterMark: 256 * 1024 }))
}

async function* chunks(request: IncomingMessage, quietMs: number): AsyncGenerator<Buffer> {
  const onQuiet = () => request.destroy(new HoltError('timeout', `Nothing arrived for ${quietMs / 1000} seconds.`))
  const timer = setTimeout(onQuiet, quietMs)
  try {
    // Leaving the loop early must not destroy the request: that would cut it from its socket, which
    // then nobody reads or closes.
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
