import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { fields, flag, frame, frameType } from '../support/raw-http2.ts'
import { startRawUpstream } from '../support/raw-upstream.ts'
import { hostName, makePassage, upstreamContext } from './harness.ts'

test('of endless HTTP/1.1 interim answers a program gets the first', async () => {
  const { ca, context } = await upstreamContext()
  const server = createServer({ SNICallback: (_name, done) => done(null, context) }, (socket) => {
    socket.on('error', () => socket.destroy())
    const some = 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(1_000)
    socket.once('data', async () => {
      for (let n = 0; n < 100; n += 1) if (!socket.write(some)) await once(socket, 'drain')
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const passage = await makePassage({ port: (server.address() as AddressInfo).port, caPem: ca.certificatePem })
  const socket = await passage.enter()
  socket.write(`GET / HTTP/1.1\r\nHost: ${hostName}\r\n\r\n`)
  let text = ''
  socket.on('data', (bytes) => {
    text += bytes
  })
  await expect.poll(() => text).toMatch(/done$/)
  expect(text.match(/100 Continue/g)).toHaveLength(1)
})

test('of endless HTTP/2 interim answers a program gets a few', async () => {
  const { ca, context } = await upstreamContext()
  const head = (stream: number, status: string) =>
    frame(
      frameType.headers,
      flag.endHeaders | (status === '200' ? flag.endStream : 0),
      stream,
      fields({ ':status': status }),
    )
  const upstream = await startRawUpstream(context, ({ type, stream }, write) => {
    if (type !== frameType.headers) return
    write(...Array.from({ length: 1_000 }, () => head(stream, '103')), head(stream, '200'))
  })
  const passage = await makePassage({ port: upstream.port, caPem: ca.certificatePem })
  const session = await passage.enterHttp2()
  const asked = session.request({ ':path': '/' })
  const interim: unknown[] = []
  asked.on('headers', (headers) => interim.push(headers[':status']))
  const [final] = await once(asked, 'response')
  expect(final[':status']).toBe(200)
  expect(interim).toEqual(Array(16).fill(103))
})
