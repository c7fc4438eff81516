import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { secureInside } from '../../../src/terminate/tls/inside-tls.ts'
import { UpstreamTls } from '../../../src/upstream/upstream-tls.ts'
import { hostName, upstreamContext } from '../harness.ts'

const upstreams = new UpstreamTls(null)
const server = createServer((socket) => socket.on('error', () => {}))

beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterAll(() => {
  server.close()
})

async function dialled(): Promise<Socket> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  await once(socket, 'connect')
  return socket
}

/** Makes TLS over a connection; answers how that ended. */
const sides = {
  upstream: (socket: Socket, signal: AbortSignal) =>
    upstreams.secure(socket, { name: hostName, protocols: ['http/1.1'], signal }, () => 'secured'),
  runtime: async (socket: Socket, signal: AbortSignal) => {
    const { context } = await upstreamContext()
    return secureInside(socket, { context, protocol: 'http/1.1', signal }, () => 'secured')
  },
}

test.for(['upstream', 'runtime'] as const)('no handshake with the %s waits on a closed connection', async (side) => {
  const socket = await dialled()
  socket.destroy()
  await once(socket, 'close')
  await expect(sides[side](socket, AbortSignal.timeout(10_000))).rejects.toThrow('was closed')
})

test.for(['upstream', 'runtime'] as const)('no handshake with the %s starts on a closed connection', async (side) => {
  const socket = await dialled()
  await expect(sides[side](socket, AbortSignal.abort(new Error('cut')))).rejects.toThrow('cut')
  expect(socket.destroyed).toBe(true)
})
