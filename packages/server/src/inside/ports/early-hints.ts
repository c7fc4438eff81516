import type { IncomingMessage, InformationEvent, ServerResponse } from 'node:http'

/**
 * The maximum number of informational answers to a request. Later ones are dropped, because a
 * program can send them without end.
 */
const maxEarlyAnswers = 16

/** The longest `Link` header in bytes. Longer ones are dropped. */
const maxLinkLength = 4096

/**
 * One link of a `Link` header: a target, and parameters whose values may be quoted (RFC 8288, 3).
 */
const link = /<[^<>]*>(?:[^,"<]|"(?:[^"\\]|\\.)*")*/g

/**
 * Matches a link in the form that Node accepts. Node's own expression takes exponential time in the
 * number of parameters. This one takes linear time, and only matching links reach Node.
 */
const taken = /^<[^<>\s]*>(?:\s*;\s*[^;"=\s]+(?:=(?:"[^;"\s]*"|[^;"\s]*))?)*$/

/**
 * Returns a handler that forwards the early hints of a program, while the client has no answer yet
 * and uses HTTP/1.1.
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
