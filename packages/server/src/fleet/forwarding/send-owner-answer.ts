import type { IncomingMessage, ServerResponse } from 'node:http'
import { mergePieces } from '@holt/async'
import { movedHeader } from '../../foundation/errors/moved-header.ts'
import { closeAfterLongBody } from '../../foundation/wire/drop-rest-of-body.ts'
import { endToEndHeaders } from '../../foundation/wire/end-to-end-headers.ts'
import { announcedTrailers, passedTrailers } from '../../inside/ports/forward-headers.ts'

/** An empty chunk, which sends the headers unchanged. `flushHeaders` would encode them as UTF-8. */
const nothing = Buffer.alloc(0)

/**
 * Writes the owner's answer to the client, no faster than the client reads. Resolves when the
 * response is closed. An answer that breaks off destroys the response, so the client sees a break.
 * `added` are headers of this host, which replace those of the owner.
 */
export async function sendOwnerAnswer(
  answer: IncomingMessage,
  {
    request,
    response,
    added,
  }: {
    readonly request: IncomingMessage
    readonly response: ServerResponse
    readonly added: Readonly<Record<string, string>>
  },
): Promise<void> {
  if (response.destroyed) return
  const replaced = new Set(['trailer', movedHeader, ...Object.keys(added)])
  const headers = endToEndHeaders(answer, (name) => replaced.has(name))
  closeAfterLongBody(request, response)
  response.writeHead(answer.statusCode ?? 502, [
    ...Object.entries(added).flat(),
    ...headers,
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
