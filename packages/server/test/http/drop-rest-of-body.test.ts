import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { mergePieces } from '@holt/engine'
import { expect, onTestFinished, test, vi } from 'vitest'
import { dropRestOfBody } from '../../src/http/drop-rest-of-body.ts'

/** A server that wants no body, and a connection to it that says something. */
async function say(bytes: string): Promise<{ heard: () => string; accepted: Socket }> {
  const server = createServer((request, response) => {
    mergePieces(request)
    dropRestOfBody(request, response)
    response.end(`answer to ${request.url}`)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.on('error', () => {})
  onTestFinished(() => {
    socket.destroy()
    server.close()
  })
  const [accepted] = (await once(server, 'connection')) as [Socket]
  let heard = ''
  socket.setEncoding('utf8').on('data', (part: string) => {
    heard += part
  })
  socket.write(bytes)
  return { heard: () => heard, accepted }
}

const post = (path: string, length: number) => `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`

test('a connection is not cut over a body that has come to its end, though not all of it was taken in', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const length = 2 ** 20 + 30_000
  const { heard, accepted } = await say(`${post('/first', length)}${'x'.repeat(length)}${post('/second', 0)}`)
  while (!heard().includes('answer to /second')) await new Promise(setImmediate)
  vi.advanceTimersByTime(60_000)
  expect(accepted.destroyed).toBe(false)
})
