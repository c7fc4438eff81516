import type { ServerHttp2Stream } from 'node:http2'
import { HoltError } from '@holt/protocol'
import type { PeerStream } from './peer-listener.ts'

/** The most bytes of the JSON of a request between hosts. */
const maxAskedBytes = 64 * 1024

/** Answers a request of another host with JSON. */
type AnswerPeer = (asked: unknown, hostId: string) => Promise<unknown>

/** The requests between hosts that are answered with JSON, by their path: `POST PATH`. */
export type PeerRoutes = ReadonlyMap<string, AnswerPeer>

/**
 * Returns the function that answers the streams of other hosts: those of `routes`, and all others
 * with `otherwise`. A request with a wrong body, or that the route refuses, is answered with 400.
 */
export function answerByPath(
  routes: PeerRoutes,
  otherwise: (asked: PeerStream) => Promise<void>,
): (asked: PeerStream) => Promise<void> {
  return async (asked) => {
    const { stream, headers, hostId } = asked
    const answer = headers[':method'] === 'POST' ? routes.get(headers[':path'] ?? '') : undefined
    if (answer === undefined) return otherwise(asked)
    const json = await readPeerJson(stream)
    if (json === null) return respond(stream, 400)
    try {
      respond(stream, 200, JSON.stringify(await answer(json.value, hostId)))
    } catch (error) {
      if (!(error instanceof HoltError)) throw error
      respond(stream, 400)
    }
  }
}

/**
 * Reads the JSON of a message between hosts. Returns null if it breaks off, is too long, or is no
 * JSON.
 */
export async function readPeerJson(stream: AsyncIterable<Buffer>): Promise<{ readonly value: unknown } | null> {
  const pieces: Buffer[] = []
  let bytes = 0
  try {
    for await (const piece of stream) {
      bytes += piece.length
      if (bytes > maxAskedBytes) return null
      pieces.push(piece)
    }
    return { value: JSON.parse(Buffer.concat(pieces).toString()) }
  } catch {
    return null // The other side is answered, or sees its own break.
  }
}

function respond(stream: ServerHttp2Stream, status: number, body = ''): void {
  if (stream.destroyed || stream.closed) return
  stream.respond({ ':status': status, 'content-type': 'application/json' })
  stream.end(body)
}
