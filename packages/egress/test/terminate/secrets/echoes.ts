import { once } from 'node:events'
import { createSecureServer } from 'node:http2'
import { createServer } from 'node:https'
import type { AddressInfo, Server } from 'node:net'
import { onTestFinished } from 'vitest'
import { hostName, makePassage, type Passage, secretOf, upstreamContext } from '../harness.ts'

/** An open request to a host that echoes everything, with the secret inserted. */
export interface Echo {
  send(bytes: Buffer): void
  /**
   * Called with each piece of the answer as a program sees it: a chunk, a DATA frame, or the
   * WebSocket data that arrived at once.
   */
  onPiece: (piece: Buffer) => void
}

const { placeholder } = secretOf()
const credentials = `Authorization: Bearer ${placeholder}`

/** A way to open echoes over each protocol. All of them lead through the real terminator. */
export const protocols = { 'HTTP/1.1': echoOfHttp1, 'HTTP/2': echoOfHttp2, WebSocket: echoOfWebSocket } as const

async function listen(server: Server, close: () => void, caPem: string): Promise<Passage> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    close()
    server.close()
  })
  const passage = await makePassage({ port: (server.address() as AddressInfo).port, caPem })
  passage.secrets = [secretOf()]
  return passage
}

async function echoOfHttp1(): Promise<() => Promise<Echo>> {
  const { ca, context } = await upstreamContext()
  const server = createServer({ SNICallback: (_name, done) => done(null, context) }, (request, response) => {
    response.flushHeaders()
    request.on('data', (part: Buffer) => response.write(part))
    request.once('end', () => response.end())
  })
  const passage = await listen(server, () => server.closeAllConnections(), ca.certificatePem)
  return async () => {
    const fields = [`Host: ${hostName}`, credentials, 'Transfer-Encoding: chunked']
    const socket = await opened(passage, ['POST / HTTP/1.1', ...fields])
    const echo: Echo = {
      send: (bytes) =>
        void socket.write(Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, lineEnd])),
      onPiece: () => {},
    }
    let rest: Buffer = Buffer.alloc(0)
    socket.on('data', (part: Buffer) => {
      rest = Buffer.concat([rest, part])
      for (;;) {
        const at = rest.indexOf(lineEnd)
        const size = Number.parseInt(rest.subarray(0, Math.max(at, 0)).toString(), 16)
        if (at < 0 || rest.length < at + size + 4) return
        const piece = rest.subarray(at + 2, at + 2 + size)
        rest = rest.subarray(at + size + 4)
        echo.onPiece(piece)
      }
    })
    return echo
  }
}

async function echoOfHttp2(): Promise<() => Promise<Echo>> {
  const { ca, context } = await upstreamContext()
  const server = createSecureServer({ SNICallback: (_name, done) => done(null, context) })
  const sessions = new Set<{ destroy(): void }>()
  server.on('session', (session) => sessions.add(session))
  server.on('stream', (stream) => {
    stream.on('error', () => {})
    stream.respond({ ':status': 200 })
    stream.pipe(stream)
  })
  const close = () => {
    for (const session of sessions) session.destroy()
  }
  const passage = await listen(server, close, ca.certificatePem)
  return async () => {
    const session = await passage.enterHttp2()
    const [, authorization = ''] = credentials.split(': ')
    const stream = session.request({ ':authority': hostName, ':method': 'POST', ':path': '/', authorization })
    stream.on('error', () => {})
    const echo: Echo = { send: (bytes) => void stream.write(bytes), onPiece: () => {} }
    await once(stream, 'response')
    stream.on('data', (piece: Buffer) => echo.onPiece(piece))
    return echo
  }
}

async function echoOfWebSocket(): Promise<() => Promise<Echo>> {
  const { ca, context } = await upstreamContext()
  const server = createServer({ SNICallback: (_name, done) => done(null, context) })
  server.on('upgrade', (_request, socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n')
    socket.on('error', () => socket.destroy()).pipe(socket)
  })
  const passage = await listen(server, () => server.closeAllConnections(), ca.certificatePem)
  return async () => {
    const fields = [`Host: ${hostName}`, credentials, 'Connection: Upgrade', 'Upgrade: websocket']
    const socket = await opened(passage, ['GET / HTTP/1.1', ...fields])
    const echo: Echo = { send: (bytes) => void socket.write(bytes), onPiece: () => {} }
    socket.on('data', (piece: Buffer) => echo.onPiece(piece))
    return echo
  }
}

const lineEnd = Buffer.from('\r\n')

/** Returns a connection after the request was sent and the head of its answer read. */
async function opened(passage: Passage, lines: readonly string[]) {
  const socket = await passage.enter()
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  let head = ''
  while (!head.includes('\r\n\r\n')) head += String((await once(socket, 'data'))[0])
  return socket
}
