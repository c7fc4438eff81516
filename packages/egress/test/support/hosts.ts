import { once } from 'node:events'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import type { TestCertificate } from './certificates.ts'

/** A server outside of the runtime, which remembers who came. */
export interface TestHost extends AsyncDisposable {
  readonly host: string
  readonly port: number
  /** How many TCP connections were made to it. */
  readonly connections: number
  /** Everything that arrived, as far as it is in plain text. */
  readonly received: string
}

/**
 * A host that only listens, and must never hear a thing; or that does with a connection what it is
 * told.
 */
export function startTcpHost(
  onConnection: (socket: Socket) => void = () => undefined,
  options: { host?: string; port?: number } = {},
) {
  const server = createServer({ allowHalfOpen: true }, onConnection)
  return listen(server, options)
}

/** A host that must never hear a thing. */
export function startCanary(options: { host?: string; port?: number } = {}): Promise<TestHost> {
  return startTcpHost(undefined, options)
}

/** An HTTP host. */
export function startHttpHost(
  onRequest: RequestListener,
  options: { host?: string; port?: number } = {},
): Promise<TestHost> {
  const server = createHttpServer(onRequest)
  return listen(server, options)
}

/** A TLS host that speaks HTTP/1.1. */
export function startHttpsHost(
  certificate: TestCertificate,
  onRequest: RequestListener,
  options: { host?: string; port?: number } = {},
): Promise<TestHost> {
  const server = createHttpsServer({ ...certificate }, onRequest)
  return listen(server, options, false)
}

async function listen(
  server: Server,
  { host = '127.0.0.1', port = 0 }: { host?: string; port?: number },
  isPlain = true,
): Promise<TestHost> {
  let count = 0
  const received: Buffer[] = []
  const open = new Set<Socket>()
  let isOver = false
  server.on('connection', (socket: Socket) => {
    count++
    open.add(socket)
    socket.on('close', () => open.delete(socket))
    socket.on('error', () => undefined)
    if (isOver) socket.destroy()
    // Only TLS may read its own bytes.
    if (isPlain) socket.on('data', (bytes) => received.push(bytes))
  })
  server.listen(port, host)
  await once(server, 'listening')
  return {
    host,
    port: (server.address() as AddressInfo).port,
    get connections() {
      return count
    },
    get received() {
      return Buffer.concat(received).toString('latin1')
    },
    async [Symbol.asyncDispose]() {
      isOver = true
      for (const socket of open) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
