import type { IncomingMessage, InformationEvent, ServerResponse } from 'node:http'

/** More early answers to one request are dropped unread: a program may send them without end. */
const maxEarlyAnswers = 16

/** Longer `Link` headers are dropped unread: a page hints at a few files. */
const maxLinkLength = 4096

/**
 * One link of a `Link` header: a target, and parameters whose values may be quoted (RFC 8288, 3).
 */
const link = /<[^<>]*>(?:[^,"<]|"(?:[^"\\]|\\.)*")*/g

/**
 * A link of the form that Node takes. Node looks for that form by an expression that has several
 * ways through each parameter, and tries all of them, twice as many for each parameter more, before
 * it refuses a link. This one has one way, and only links that have taken it reach Node.
 */
const taken = /^<[^<>\s]*>(?:\s*;\s*[^;"=\s]+(?:=(?:"[^;"\s]*"|[^;"\s]*))?)*$/

/**
 * Returns a handler that passes on the early hints of a program, as long as the client has no
 * answer yet and speaks HTTP/1.1.
 */
export function earlyHints(request: IncomingMessage, response: ServerResponse): (early: InformationEvent) => void {
  let seen = 0
  const isOld = request.httpVersion === '1.0'
  return ({ statusCode, headers }) => {
    if (statusCode !== 103 || isOld || response.headersSent || response.destroyed || seen >= maxEarlyAnswers) return
    seen += 1
    const links = linksOf(String(headers.link ?? ''))
    if (links.length === 0) return
    try {
      response.writeEarlyHints({ link: links })
    } catch {
      // Node takes no control characters. A hint is advice: the answer itself has them all.
    }
  }
}

function linksOf(header: string): string[] {
  if (header.length > maxLinkLength) return []
  return (header.match(link) ?? []).map((one) => one.trim()).filter((one) => taken.test(one))
}
