import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { Receiver } from '../../../src/tenancy/webhooks/post-message.ts'
import { RecordingGateway } from '../../support/recording-gateway.ts'
import { startTestServer } from '../../support/start-test-server.ts'

const slowHooks = 20

/**
 * Starts a host on loopback that runs `serve` for each connection until the test ends. Returns its
 * address and its connections.
 */
async function startHost(serve: (socket: Socket) => void) {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
    serve(socket)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  const { port } = server.address() as AddressInfo
  return { sockets, dial: async () => connect({ host: '127.0.0.1', port }) }
}

const silent = (socket: Socket) => void socket.resume()

/** Sends a beginning, and then one byte every 10 ms. */
const dripping = (begin: string) => (socket: Socket) => {
  socket.resume().write(begin)
  const timer = setInterval(() => socket.write('x'), 10)
  socket.once('close', () => clearInterval(timer))
}

test('a host that never answers uses few connections, and delays no other webhook', async () => {
  let received = 0
  const slow = await startHost(silent)
  const good = await startHost((socket) => {
    socket.on('data', (data) => {
      if (!String(data).startsWith('POST ')) return
      received += 1
      socket.write('HTTP/1.1 204 No Content\r\n\r\n')
    })
  })
  const nowhere = () => Promise.reject(new Error('nothing is outside'))
  const outside = {
    gateway: new RecordingGateway(),
    dialTls: nowhere,
    dialWebhook: ({ host }: { host: string }) => (host.startsWith('slow') ? slow.dial() : good.dial()),
    registryNetwork: { connect: nowhere },
  }
  const { ask, makeKey } = await startTestServer({ outside })
  const hook = (url: string) => ask('POST', '/v1/agents/webhook', { json: { url, types: ['key.created'] } })
  for (let count = 0; count < slowHooks; count += 1) await hook(`https://slow.example.com/${count}`)
  await hook('https://good.example.com/in')
  await makeKey('runtime:read')
  await vi.waitFor(() => expect(received).toBe(1), { timeout: 10_000 })
  await vi.waitFor(() => expect(slow.sockets.size).toBe(4), { timeout: 10_000 })
  for (let count = 2; count <= 5; count += 1) {
    await makeKey('runtime:read')
    await vi.waitFor(() => expect(received).toBe(count), { timeout: 10_000 })
    expect(slow.sockets.size).toBe(4)
  }
})

test.each([
  ['accepts and says nothing', silent, null],
  ['drips a status', dripping('HTTP/1.1 200 '), null],
  ['drips headers', dripping('HTTP/1.1 200 OK\r\na: '), null],
  ['drips a body without end', dripping('HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n'), 200],
])('a host that %s times out', async (_, serve, status) => {
  const host = await startHost(serve)
  const receiver = new Receiver(host.dial, 'https://slow.example.com/in', 300)
  onTestFinished(() => receiver.close())
  const outcome = await receiver.post('{}', {}, AbortSignal.timeout(60_000))
  expect(outcome).toMatchObject({ status, error: status === null ? 'no answer within 0.3 seconds' : null })
  await vi.waitFor(() => expect(host.sockets.size).toBe(0), { timeout: 10_000 })
})
