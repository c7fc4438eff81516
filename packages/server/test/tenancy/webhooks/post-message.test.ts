import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { Receiver } from '../../../src/tenancy/webhooks/post-message.ts'

/** A receiver that answers every connection with the same bytes. */
async function answering(bytes: string): Promise<Receiver> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => socket.end(bytes))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const receiver = new Receiver(async () => connect({ host: '127.0.0.1', port }), 'https://hooks.example.com/in')
  onTestFinished(() => {
    receiver.close()
    server.close()
  })
  return receiver
}

test.each([
  ['HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: a\r\n\r\n', 'it wanted to switch protocols'],
  ['', 'the connection failed (ECONNRESET)'],
])('the answer %j is not a valid answer, and is reported at once', async (bytes, error) => {
  const receiver = await answering(bytes)
  for (let count = 0; count < 2; count += 1)
    expect(await receiver.post('{}', {}, AbortSignal.timeout(60_000))).toMatchObject({ status: null, error })
})
