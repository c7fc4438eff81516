import { connect, type Socket } from 'node:net'
import { FakeEngine } from '@holt/engine-testkit/fake'
import { describe, expect, onTestFinished, test } from 'vitest'
import { connectionLimits } from '../../../src/foundation/config/connection-limits.ts'
import { type E2bServer, startE2bServer } from '../../support/e2b-server.ts'

const mib = 2 ** 20
/** The requests that the project may have under way. */
const most = 3
/** The bytes that the buffers of the system and of the service hold, generously. */
const buffersBytes = 24 * mib
/** The bytes that a client sends in a test, if it can. */
const floodBytes = 96 * mib

interface Attacked extends E2bServer {
  readonly sandboxID: string
  /** Opens a stream and sends its message. The connection stays open, and nothing is read. */
  attack(method: string, message: object): Socket
  /** The status of a small request of an honest client. */
  honest(): Promise<number>
}

async function startAttacked(engine = new FakeEngine()): Promise<Attacked> {
  // A client that reads nothing is left after this time, and not after two minutes.
  const limits = { ...connectionLimits, maxRequestsPerProject: most, unreadTimeoutMs: 5_000 }
  const server = await startE2bServer({}, { engine, limits })
  const { json: made } = await server.e2b('POST', '/v2/sandboxes', { json: { templateID: 'base' } })
  const { sandboxID, envdAccessToken } = made
  const named = { 'e2b-sandbox-id': sandboxID, 'e2b-sandbox-port': '49983', 'x-access-token': envdAccessToken }
  const { hostname, port } = new URL(server.server.url)
  const attack = (method: string, message: object) => {
    const headers = { ...named, 'content-type': 'application/connect+json', 'transfer-encoding': 'chunked' }
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    const socket = connect({ host: hostname, port: Number(port) }).pause()
    socket.on('error', () => {
      // The service cuts it, which some of the tests wait for.
    })
    onTestFinished(() => void socket.destroy())
    socket.write(`POST /process.Process/${method} HTTP/1.1\r\nHost: ${hostname}\r\n${lines.join('')}\r\n`)
    socket.write(chunkOf(envelopeOf(message)))
    return socket
  }
  const honest = async () =>
    (await server.e2b('POST', '/process.Process/List', { headers: named, json: {}, key: null })).status
  return { ...server, sandboxID, attack, honest }
}

function envelopeOf(message: object): Buffer {
  const json = Buffer.from(JSON.stringify(message))
  const head = Buffer.alloc(5)
  head.writeUInt32BE(json.length, 1)
  return Buffer.concat([head, json])
}

function chunkOf(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])
}

const cat = { process: { cmd: 'cat' }, stdin: true, tag: 'cat' }
const selector = { start: { process: { tag: 'cat' } } }

/** Sends envelopes until the connection ends or takes no more. Returns the bytes that it took. */
async function flood(socket: Socket, piece: Buffer): Promise<number> {
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

/** An engine whose programs read no input: the writes to it wait until the request ends. */
function unreadEngine() {
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
        if (!request.path.includes('/stdin')) return link.request(request)
        waiting.add(request.signal)
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

describe('a stream of input without end', () => {
  test('for a program that reads nothing is read no further, and ends with its client', async () => {
    const { engine, waiting } = unreadEngine()
    const { attack, honest, e2b, sandboxID } = await startAttacked(engine)
    const program = attack('Start', cat).resume()
    await expect.poll(honest).toBe(200)
    const input = attack('StreamInput', selector)
    const data = envelopeOf({ data: { input: { stdin: Buffer.alloc(48 * 1024, 'x').toString('base64') } } })
    expect(await flood(input, chunkOf(data))).toBeLessThan(buffersBytes)
    expect([waiting.size, await honest()]).toEqual([1, 200])
    // The unread input hides the end of its connection, so the request ends with its sandbox.
    input.destroy()
    program.destroy()
    expect((await e2b('DELETE', `/sandboxes/${sandboxID}`)).status).toBe(204)
    await expect.poll(() => waiting.size).toBe(0)
  })

  test('ends with its client, also while the program reads nothing', async () => {
    const { engine, waiting } = unreadEngine()
    const { attack, honest } = await startAttacked(engine)
    attack('Start', cat).resume()
    await expect.poll(honest).toBe(200)
    for (const leave of [(socket: Socket) => socket.destroy(), (socket: Socket) => socket.resetAndDestroy()]) {
      const input = attack('StreamInput', selector)
      input.write(chunkOf(envelopeOf({ data: { input: { stdin: 'eA==' } } })))
      await expect.poll(() => waiting.size).toBe(1)
      leave(input)
      await expect.poll(() => waiting.size).toBe(0)
    }
  })

  test('ends with its sandbox', async () => {
    const { engine, waiting } = unreadEngine()
    const { attack, honest, e2b, sandboxID } = await startAttacked(engine)
    attack('Start', cat).resume()
    await expect.poll(honest).toBe(200)
    const input = attack('StreamInput', selector).resume()
    input.write(chunkOf(envelopeOf({ data: { input: { stdin: 'eA==' } } })))
    await expect.poll(() => waiting.size).toBe(1)
    expect((await e2b('DELETE', `/sandboxes/${sandboxID}`)).status).toBe(204)
    await expect.poll(() => [waiting.size, input.destroyed]).toEqual([0, true])
  })

  test('of keepalives costs no memory, and is one request', async () => {
    const { attack, honest } = await startAttacked()
    attack('Start', cat).resume()
    await expect.poll(honest).toBe(200)
    const input = attack('StreamInput', selector)
    const nothing = chunkOf(Buffer.concat(Array.from({ length: 2000 }, () => envelopeOf({ keepalive: {} }))))
    const before = process.memoryUsage.rss()
    for (let n = 0; n < 200 && !input.destroyed; n += 1)
      if (!input.write(nothing)) await new Promise((resolve) => input.once('drain', resolve).once('close', resolve))
    expect([input.destroyed, await honest()]).toEqual([false, 200])
    expect(process.memoryUsage.rss() - before).toBeLessThan(256 * mib)
  })
})

test('messages after the one of a request are not read, and its command runs on', async () => {
  const { attack, honest, e2b, sandboxID } = await startAttacked()
  const socket = attack('Start', cat)
  const received: Buffer[] = []
  socket.on('data', (bytes) => received.push(bytes)).resume()
  expect(
    await flood(socket, chunkOf(envelopeOf({ process: { cmd: 'false', args: ['x'.repeat(60_000)] } }))),
  ).toBeLessThan(buffersBytes)
  expect(await honest()).toBe(200)
  expect(Buffer.concat(received).toString('latin1')).toContain('"start"')
  expect((await e2b('DELETE', `/sandboxes/${sandboxID}`)).status).toBe(204)
  await expect.poll(() => socket.destroyed).toBe(true)
})

const clients: readonly (readonly [string, (socket: Socket) => void])[] = [
  ['never reads', () => {}],
  ['has vanished', (socket) => socket.destroy()],
  ['has reset its connection', (socket) => socket.resetAndDestroy()],
]

describe('the streams of a client that', () => {
  test.each(clients)(
    '%s count until they are cut, and their sandbox is free then',
    {
      timeout: 120_000,
    },
    async (_, leave) => {
      const { attack, honest, e2b, sandboxID } = await startAttacked()
      // More output than all buffers on the way hold.
      const output = { process: { cmd: 'fill', args: [String(16 * mib)] } }
      const sockets = Array.from({ length: most }, () => attack('Start', output))
      await expect.poll(honest).toBe(429)
      for (const socket of sockets) leave(socket)
      await expect.poll(honest, { timeout: 60_000 }).toBe(200)
      const paused = await e2b('POST', `/sandboxes/${sandboxID}/pause`)
      expect([paused.status, (await e2b('DELETE', `/sandboxes/${sandboxID}`)).status]).toEqual([204, 204])
    },
  )
})
