import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import { answerQuery, type NameService } from './answer-query.ts'

/** The largest message that is accepted. Queries of programs have some 100 bytes. */
const maxMessageBytes = 4096
const bodyTimeoutMs = 10_000
const messageType = 'application/dns-message'

/** Serves one DNS query over HTTP (RFC 8484, POST). */
export async function serveQuery(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  service: NameService,
): Promise<void> {
  if (headers['content-type'] !== messageType) return respond(stream, 415)
  const message = await readBody(stream)
  if (message === 'too_large') return respond(stream, 413)
  const answer = message === null ? null : await answerQuery(message, service)
  if (answer === null) return respond(stream, 400)
  if (stream.destroyed || stream.closed) return
  stream.respond({ ':status': 200, 'content-type': messageType, 'content-length': answer.length })
  stream.end(answer)
}

/** Returns the whole body, or null if it ended early. */
async function readBody(stream: ServerHttp2Stream): Promise<Buffer | 'too_large' | null> {
  const timer = setTimeout(() => stream.close(constants.NGHTTP2_CANCEL), bodyTimeoutMs)
  const chunks: Buffer[] = []
  let length = 0
  try {
    for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
      chunks.push(chunk)
      length += chunk.length
      if (length > maxMessageBytes) return 'too_large'
    }
    return Buffer.concat(chunks)
  } catch {
    // The guest aborted or was too slow.
    return null
  } finally {
    clearTimeout(timer)
  }
}

function respond(stream: ServerHttp2Stream, status: number): void {
  if (stream.destroyed || stream.closed || stream.headersSent) return
  stream.respond({ ':status': status }, { endStream: true })
  stream.resume()
}
