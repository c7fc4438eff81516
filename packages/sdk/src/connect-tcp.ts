import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { errorOfAnswer, HoltConnectionError } from './errors/errors.ts'

/** The maximum number of bytes of a refusal that are read. */
const maxRefusalBytes = 64 * 1024

/** Opens a raw connection to a port: an HTTP upgrade to `tcp`. */
export async function connectTcp(to: {
  readonly url: URL
  readonly apiKey: string | undefined
  readonly signal: AbortSignal | undefined
}): Promise<Duplex> {
  const { url, apiKey, signal } = to
  const outgoing = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, {
    agent: false,
    headers: {
      connection: 'Upgrade',
      upgrade: 'tcp',
      ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
    },
    ...(signal === undefined ? {} : { signal }),
  })
  return new Promise((resolve, reject) => {
    outgoing.once('upgrade', (_, socket, head) => resolve(opened(socket as Socket, head)))
    outgoing.once('response', (answer) => refusalOf(answer).then(reject, reject))
    outgoing.once('error', (cause) => {
      if (signal?.aborted === true) reject(signal.reason)
      else reject(new HoltConnectionError('refused', `The service at ${url.origin} cannot be reached`, { cause }))
    })
    outgoing.end()
  })
}

function opened(socket: Socket, head: Buffer): Duplex {
  socket.setNoDelay(true)
  socket.allowHalfOpen = true
  if (head.length > 0) socket.unshift(head)
  return socket
}

async function refusalOf(answer: IncomingMessage): Promise<Error> {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of answer) {
    parts.push(part)
    size += part.length
    if (size > maxRefusalBytes) break
  }
  const status = answer.statusCode ?? 0
  const response = new Response(null, { status: status < 200 ? 500 : status })
  return errorOfAnswer(response, Buffer.concat(parts).toString())
}
