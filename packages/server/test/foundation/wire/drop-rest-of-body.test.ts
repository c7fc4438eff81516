import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { mergePieces } from '@holt/async'
import { expect, onTestFinished, test, vi } from 'vitest'
import { Connections } from '../../../src/api/http/connections.ts'
import { connectionLimits } from '../../../src/foundation/config/connection-limits.ts'
import { closeAfterLongBody, dropRestOfBody } from '../../../src/foundation/wire/drop-rest-of-body.ts'
import { startTestServer } from '../../support/start-test-server.ts'

/** A server that wants no body, and a connection to it that says something. */
async function say(
  bytes: string,
): Promise<{ heard: () => string; asked: readonly string[]; socket: Socket; accepted: Socket }> {
  const asked: string[] = []
  const server = createServer((request, response) => {
    mergePieces(request)
    dropRestOfBody(request, response)
    connections.answerInOrder(request, response, () => {
      asked.push(request.url ?? '')
      closeAfterLongBody(request, response)
      response.end(`answer to ${request.url}`)
    })
  })
  const connections = new Connections(server, connectionLimits)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true })
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
  return { heard: () => heard, asked, socket, accepted }
}

const post = (path: string, length: number) => `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`

test('a connection with a complete but unread body stays open', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const length = 2 ** 20
  const { heard, accepted } = await say(`${post('/first', length)}${'x'.repeat(length)}${post('/second', 0)}`)
  while (!heard().includes('answer to /second')) await new Promise(setImmediate)
  vi.advanceTimersByTime(60_000)
  expect(accepted.destroyed).toBe(false)
})

test('an answer before a long body is the last one, and its client has time to read it', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const { heard, socket, accepted } = await say(post('/first', 5 * 2 ** 20) + 'x'.repeat(5 * 2 ** 20))
  while (!heard().includes('answer to /first')) await new Promise(setImmediate)
  expect(heard()).toContain('Connection: close\r\n')
  for (let turns = 0; turns < 100; turns++) await new Promise(setImmediate)
  expect([socket.errored, accepted.destroyed]).toEqual([null, false])
  vi.advanceTimersByTime(60_000)
  expect(accepted.destroyed).toBe(true)
})

test('no work happens after the last answer', async () => {
  const { heard, asked, socket } = await say('POST /first HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n')
  while (!heard().includes('answer to /first')) await new Promise(setImmediate)
  socket.end(`0\r\n\r\n${post('/second', 0)}`)
  await once(socket, 'close')
  expect(asked).toEqual(['/first'])
})

test('a break after the last answer gets no second answer', async () => {
  const { server } = await startTestServer()
  const { port, hostname } = new URL(server.url)
  const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true })
  socket.write(post('/nothing', 5 * 2 ** 20))
  let heard = ''
  socket.setEncoding('latin1').on('data', (part: string) => {
    if (heard === '') socket.end('a part')
    heard += part
  })
  await once(socket, 'end')
  expect(heard.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 404'])
})
