import type { IncomingMessage, InformationEvent, ServerResponse } from 'node:http'

/** More early answers to one request are dropped: a program may send them without end. */
const maxEarlyAnswers = 16

/** One link of a `Link` header: a target, and parameters whose values may be quoted (RFC 8288, 3). */
const link = /<[^>]*>(?:[^,"<]|"(?:[^"\\]|\\.)*")*/g

/** Returns what passes on the early hints of a program, while the client has no answer yet and speaks HTTP/1.1. */
export function earlyHints(request: IncomingMessage, response: ServerResponse): (early: InformationEvent) => void {
  let sent = 0
  const isOld = request.httpVersion === '1.0'
  return ({ statusCode, headers }) => {
    const links = String(headers.link ?? '').match(link) ?? []
    if (statusCode !== 103 || links.length === 0 || isOld) return
    if (response.headersSent || response.destroyed || sent >= maxEarlyAnswers) return
    sent += 1
    try {
      response.writeEarlyHints({ link: links.map((one) => one.trim()) })
    } catch {
      // Node takes only some forms of links. A hint is advice: the answer itself has them all.
    }
  }
}
