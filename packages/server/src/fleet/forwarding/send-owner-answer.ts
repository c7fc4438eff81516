import type { IncomingMessage, ServerResponse } from 'node:http'
import { mergePieces } from '@holt/async'
import { movedHeader } from '../../foundation/errors/moved-header.ts'
import { closeAfterLongBody } from '../../foundation/wire/drop-rest-of-body.ts'
import { headerPairs, type RawHeaders } from '../../foundation/wire/end-to-end-headers.ts'
import { announcedTrailers, passedTrailers } from '../../inside/ports/forward-headers.ts'

/** An empty chunk, which sends the headers unchanged. `flushHeaders` would encode them as UTF-8. */
const nothing = Buffer.alloc(0)

/**
 * Writes the owner's answer to the client, no faster than the client reads. Resolves when the
 * response is closed. An answer that breaks off destroys the response, so the client sees a break.
 * `headers` are those of the owner, and `added` are headers of this host, which replace them.
 */
export async function sendOwnerAnswer(
  answer: IncomingMessage,
  {
    request,
    response,
    headers,
    added,
  }: {
    readonly request: IncomingMessage
    readonly response: ServerResponse
    readonly headers: RawHeaders
    readonly added: Readonly<Record<string, string>>
  },
): Promise<void> {
  if (response.destroyed) return
  const replaced = new Set(['trailer', movedHeader, ...Object.keys(added)])
  const kept = headerPairs(headers).filter(([name]) => !replaced.has(name.toLowerCase()))
  closeAfterLongBody(request, response)
  response.writeHead(answer.statusCode ?? 502, [
    ...Object.entries(added).flat(),
    ...kept.flat(),
    ...announcedTrailers(answer, request),
  ])
  response.write(nothing)
  const breakOff = () => {
    if (!response.writableFinished) response.destroy()
  }
  answer.on('error', breakOff).once('aborted', breakOff)
  response.on('error', breakOff)
  if (answer.destroyed && !answer.readableEnded) breakOff()
  answer.once('end', () => {
    response.addTrailers(passedTrailers(answer.rawTrailers))
    response.end()
  })
  mergePieces(answer).pipe(response, { end: false })
  if (!response.closed) await new Promise<void>((resolve) => response.once('close', () => resolve()))
}
