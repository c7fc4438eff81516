import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer as createPlain, type IncomingMessage, type ServerResponse } from 'node:http'
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { createSecureContext, type SecureContext, type TLSSocket } from 'node:tls'
import { issue, makeTestCa } from '@holt/egress/testing'
import { answer } from './answers.ts'
import { type GitRequest, gitHost } from './git-host.ts'
import type { ArrivedConnection, ArrivedRequest } from './records.ts'
import type { Registries } from './registries.ts'
import { isVendor } from './vendor-apis.ts'
import { echoWebSocket } from './websocket.ts'

type AnyRequest = IncomingMessage | Http2ServerRequest
type AnyResponse = ServerResponse | Http2ServerResponse

interface HttpHostsOptions {
  readonly directory: string
  readonly addresses: readonly string[]
  readonly registries: Registries
  /** Answers for the host of the private repository. */
  answerGit(request: GitRequest, response: ServerResponse): Promise<void>
  onRequest(request: ArrivedRequest): void
  onConnection(connection: ArrivedConnection): void
}

const bodyBytesKept = 4096
/** A model's prompt and a pack of git are kept whole: the answer depends on all of it. */
const wholeBytesKept = 8 * 1024 * 1024

/**
 * Starts the rig's web: TLS at 443 for every name, HTTP/1.1 and HTTP/2, and plain HTTP at 80.
 * Answers where its authority's certificate lies.
 */
export async function startHttpHosts(options: HttpHostsOptions): Promise<{ caFile: string }> {
  const ca = await makeTestCa()
  const caFile = join(options.directory, 'ca.pem')
  await writeFile(caFile, ca.certificatePem)
  const contexts = new Map<string, Promise<SecureContext>>()
  const contextFor = (name: string) => {
    // One host has a certificate for another name.
    const certified = name === 'mismatch.example.com' ? 'other.example.com' : name
    const context = contexts.get(name) ?? issue(ca, certified).then((certificate) => createSecureContext(certificate))
    contexts.set(name, context)
    return context
  }
  const fallback = await issue(ca, 'fallback.example.com')
  for (const address of options.addresses) {
    // A client that has left makes an answer fail; the others are served all the same.
    const onRequest = (request: AnyRequest, response: AnyResponse) =>
      void serve(request, response, options).catch((error) => {
        console.error('the rig could not answer', request.method, request.url, error)
        request.socket.destroy()
      })
    const secure = createSecureServer(
      {
        allowHTTP1: true,
        ...fallback,
        SNICallback: (name, done) => void contextFor(name).then((context) => done(null, context), done),
      },
      onRequest,
    )
    const plain = createPlain(onRequest)
    for (const [server, port] of [
      [secure, 443],
      [plain, 80],
    ] as const) {
      server.on('connection', (socket: Socket) => {
        socket.on('error', () => socket.destroy())
        options.onConnection({ address, port, first: '' })
      })
      server.on('upgrade', (request: IncomingMessage, socket: Socket) => echoWebSocket(request, socket))
      server.listen(port, address)
      await once(server, 'listening')
    }
  }
  return { caFile }
}

async function serve(
  request: AnyRequest,
  response: AnyResponse,
  { registries, answerGit, onRequest }: HttpHostsOptions,
): Promise<void> {
  const sni = (request.socket as TLSSocket).servername
  const host = String(request.headers[':authority'] ?? request.headers.host ?? '').replace(/:\d+$/, '')
  const path = request.url ?? ''
  const mostKept = isVendor(host) || host === gitHost ? wholeBytesKept : bodyBytesKept
  let bodyBytes = 0
  let body = ''
  const hash = createHash('sha256')
  try {
    for await (const part of request as AsyncIterable<Buffer>) {
      bodyBytes += part.length
      hash.update(part)
      if (body.length < mostKept) body += part.toString('latin1').slice(0, mostKept)
    }
  } catch {
    return // The program broke off; what has not arrived as a whole is not told.
  }
  const arrived: ArrivedRequest = {
    sni: typeof sni === 'string' ? sni : null,
    protocol: request.httpVersionMajor === 2 ? 'h2' : 'h1',
    method: request.method ?? '',
    path,
    rawHeaders: request.rawHeaders,
    bodyBytes,
    bodyHash: hash.digest('hex'),
    body,
  }
  onRequest(arrived)
  if (host === gitHost) {
    const sent = { method: arrived.method, path, headers: request.headers, body: Buffer.from(body, 'latin1') }
    return answerGit(sent, response as ServerResponse)
  }
  // Both kinds of response are writable streams with the same head.
  await answer(registries, { host, arrived, response: response as ServerResponse })
}
