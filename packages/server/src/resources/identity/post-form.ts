import { type IncomingMessage, request } from 'node:http'
import type { Duplex } from 'node:stream'

/** The maximum number of bytes of an answer. One with a token has a kilobyte or two. */
const maxAnswerBytes = 64 * 1024

/**
 * Opens verified TLS to a host under the egress rules. The service's own requests reach only hosts
 * that a runtime may reach.
 */
export type DialTls = (target: { host: string; port: number }, signal: AbortSignal) => Promise<Duplex>

/** A form to send. */
export interface Form {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly fields: URLSearchParams
}

/** Sends a form and returns status and body. Redirects are not followed. */
export async function postForm(
  dial: DialTls,
  { url, headers, fields }: Form,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly text: string }> {
  const socket = await dial({ host: url.hostname, port: url.port === '' ? 443 : Number(url.port) }, signal)
  try {
    const body = Buffer.from(fields.toString())
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const sent = request({
      // TLS is open already. This is HTTP over it, on its own connection and without an agent.
      createConnection: () => socket,
      method: 'POST',
      path: `${url.pathname}${url.search}`,
      headers: {
        ...headers,
        host: url.host,
        accept: 'application/json',
        'content-type': 'application/x-www-form-urlencoded',
        'content-length': body.length,
        connection: 'close',
      },
      maxHeaderSize: 16 * 1024,
      signal,
    })
    sent.once('response', resolve).on('error', reject)
    sent.end(body)
    const answer = await promise
    return { status: answer.statusCode ?? 0, text: await readText(answer) }
  } finally {
    socket.destroy()
  }
}

async function readText(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of answer) {
    size += (chunk as Buffer).length
    if (size > maxAnswerBytes) throw new Error('the answer is too large')
    chunks.push(chunk as Buffer)
  }
  return Buffer.concat(chunks).toString('utf8')
}
