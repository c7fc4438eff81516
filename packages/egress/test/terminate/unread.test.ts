import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { createSecureServer } from 'node:http2'
import { createServer } from 'node:https'
import type { AddressInfo, Server } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { bytesInUse } from '../../../async/test/support/pieces.ts'
import { fields, flag, frame, frameType } from '../support/raw-http2.ts'
import { hostName, makePassage, secretOf, upstreamContext } from './harness.ts'

/** Connects to a gateway whose requests are never judged, since their secret has no value yet. */
async function enter(protocol: 'h2' | 'http/1.1', connections: number): Promise<TLSSocket[]> {
  const { ca, context } = await upstreamContext()
  const options = {
    SNICallback: (_name: string, done: (error: null, found: typeof context) => void) => done(null, context),
  }
  const server: Server = protocol === 'h2' ? createSecureServer(options) : createServer(options)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const passage = await makePassage({ port: (server.address() as AddressInfo).port, caPem: ca.certificatePem })
  passage.secrets = [secretOf({ value: () => new Promise(() => {}) })]
  return Promise.all(Array.from({ length: connections }, () => passage.enter({ protocols: [protocol] })))
}

test('bodies in small pieces use little memory while their HTTP/1.1 requests are checked', async () => {
  let begun = 0
  const count = () => {
    begun += 1
  }
  const sockets = await enter('http/1.1', 16)
  subscribe('http.server.request.start', count)
  onTestFinished(() => void unsubscribe('http.server.request.start', count))
  const before = await bytesInUse()
  const host = `Host: ${hostName}\r\n`
  // As much as one record of TLS has, which is read whole.
  const body = `${'1\r\nx\r\n'.repeat(2_600)}0\r\n\r\n`
  for (const socket of sockets)
    socket.write(`POST / HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\n${body}GET / HTTP/1.1\r\n${host}\r\n`)
  await expect.poll(() => begun).toBe(2 * sockets.length)
  expect((await bytesInUse()) - before).toBeLessThan(2 * 2 ** 20)
})

test('bodies in small pieces use little memory while their HTTP/2 requests are checked', async () => {
  const [socket] = (await enter('h2', 1)) as [TLSSocket]
  const pong = frame(frameType.ping, flag.ack, 0, Buffer.alloc(8))
  /** Sends frames, which have been read when a ping after them is answered. */
  const say = async (...frames: readonly Buffer[]) => {
    socket.write(Buffer.concat([...frames, frame(frameType.ping, 0, 0, Buffer.alloc(8))]))
    for (let heard = Buffer.alloc(0); !heard.includes(pong); ) {
      const [bytes] = (await once(socket, 'data')) as [Buffer]
      heard = Buffer.concat([heard, bytes])
    }
  }
  const streams = Array.from({ length: 16 }, (_, at) => 2 * at + 1)
  const head = fields({ ':method': 'POST', ':scheme': 'https', ':path': '/', ':authority': hostName })
  await say(
    Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
    frame(frameType.settings, 0, 0),
    ...streams.map((stream) => frame(frameType.headers, flag.endHeaders, stream, head)),
  )
  const before = await bytesInUse()
  for (const stream of streams) await say(...Array<Buffer>(16_000).fill(frame(frameType.data, 0, stream, Buffer.of(0))))
  expect((await bytesInUse()) - before).toBeLessThan(8 * 2 ** 20)
})
