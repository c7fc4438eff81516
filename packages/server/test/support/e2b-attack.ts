import { connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { FakeEngine } from '@holt/engine-testkit/fake'
import { onTestFinished } from 'vitest'
import { connectionLimits } from '../../src/foundation/config/connection-limits.ts'
import { type E2bServer, startE2bServer } from './e2b-server.ts'

export const mib = 2 ** 20

/** The requests that the project may have under way. */
export const mostRequests = 3

/** The bytes that the buffers of the system and of the service hold, generously. */
export const buffersBytes = 24 * mib

/** The bytes that a client sends in a test, if it can. */
const floodBytes = 96 * mib

/** A server with a sandbox, and the connections of an attacker. */
interface Attacked extends E2bServer {
  readonly sandboxID: string
  /**
   * Opens a request to the sandbox, whose body the test sends, in chunks unless the headers have a
   * length. The connection stays open, and nothing is read.
   */
  open(path: string, headers: Readonly<Record<string, string>>): Socket
  /** Opens a stream and sends its message. */
  attack(method: string, message: object): Socket
  /** The status of a small request of an honest client. */
  honest(): Promise<number>
}

/** Starts a server for attacks on its limits. */
export async function startAttacked(engine = new FakeEngine()): Promise<Attacked> {
  // A client that reads nothing is left after this time, and not after two minutes.
  const limits = { ...connectionLimits, maxRequestsPerProject: mostRequests, unreadTimeoutMs: 5_000 }
  const server = await startE2bServer({}, { engine, limits })
  const { json: made } = await server.e2b('POST', '/v2/sandboxes', { json: { templateID: 'base' } })
  const { sandboxID, envdAccessToken } = made
  const named = { 'e2b-sandbox-id': sandboxID, 'e2b-sandbox-port': '49983', 'x-access-token': envdAccessToken }
  const { hostname, port } = new URL(server.server.url)
  const open: Attacked['open'] = (path, headers) => {
    const length = 'content-length' in headers ? {} : { 'transfer-encoding': 'chunked' }
    const all = { ...named, ...length, ...headers }
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
    const socket = connect({ host: hostname, port: Number(port) }).pause()
    socket.on('error', () => {
      // The service cuts it, which some of the tests wait for.
    })
    onTestFinished(() => void socket.destroy())
    socket.write(`POST ${path} HTTP/1.1\r\nHost: ${hostname}\r\n${lines.join('')}\r\n`)
    return socket
  }
  const attack = (method: string, message: object) => {
    const socket = open(`/process.Process/${method}`, { 'content-type': 'application/connect+json' })
    socket.write(chunkOf(envelopeOf(message)))
    return socket
  }
  const honest = async () =>
    (await server.e2b('POST', '/process.Process/List', { headers: named, json: {}, key: null })).status
  return { ...server, sandboxID, open, attack, honest }
}

/** Returns a message as an envelope of Connect. */
export function envelopeOf(message: object): Buffer {
  const json = Buffer.from(JSON.stringify(message))
  const head = Buffer.alloc(5)
  head.writeUInt32BE(json.length, 1)
  return Buffer.concat([head, json])
}

/** Returns bytes as a chunk of HTTP. */
export function chunkOf(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])
}

/** Sends pieces until the connection ends or takes no more. Returns the bytes that it took. */
export async function flood(socket: Socket, piece: Buffer): Promise<number> {
  while (!socket.destroyed && socket.bytesWritten < floodBytes) {
    if (socket.write(piece)) {
      await new Promise(setImmediate)
      continue
    }
    const before = socket.bytesWritten - socket.writableLength
    await Promise.race([
      new Promise((resolve) => socket.once('drain', resolve).once('close', resolve)),
      new Promise((resolve) => setTimeout(resolve, 1000)),
    ])
    if (socket.bytesWritten - socket.writableLength === before) break
  }
  return socket.bytesWritten - socket.writableLength
}

/**
 * Returns an engine whose guest begins with the bodies of requests to paths with `part`, and reads
 * no further. They wait until they are given up, and are in `waiting` until then.
 */
export function unreadEngine(part: string) {
  const engine = new FakeEngine()
  const waiting = new Set<AbortSignal>()
  const { dial } = engine
  engine.dial = async (...args) => {
    const link = await dial.apply(engine, args)
    return {
      get connected() {
        return link.connected
      },
      request: async (request) => {
        const { body } = request
        if (!request.path.includes(part)) return link.request(request)
        waiting.add(request.signal)
        if (body instanceof Readable) body.once('readable', () => body.read(1))
        try {
          return await new Promise<never>((_, reject) => {
            request.signal.addEventListener('abort', () => reject(request.signal.reason), { once: true })
          })
        } finally {
          waiting.delete(request.signal)
        }
      },
    }
  }
  return { engine, waiting }
}
