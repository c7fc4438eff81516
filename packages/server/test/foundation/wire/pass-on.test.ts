import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { PassThrough, Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { passOn } from '../../../src/foundation/wire/pass-on.ts'

test('a body is piped into a stream and ends it', async () => {
  const body = Readable.from(['a', 'b', 'c'], { objectMode: false })
  expect(String(await buffer(passOn(body, new PassThrough())))).toBe('abc')
})

test.each([
  ['with an error', new Error('the disk failed'), 'the disk failed'],
  ['without a word', undefined, 'gone'],
])('a body that breaks off %s destroys the stream, even if it did so before', async (_, error, message) => {
  for (const before of [true, false]) {
    const body = new PassThrough()
    body.on('error', () => {})
    const breakOff = async () => {
      body.destroy(error)
      if (!body.closed) await new Promise((resolve) => body.once('close', resolve))
    }
    if (before) await breakOff()
    const target = passOn(body, new PassThrough(), new Error('gone'))
    const broken = once(target, 'close').catch((failure: unknown) => failure)
    if (!before) await breakOff()
    await broken
    expect(target.errored).toMatchObject({ message })
  }
})

test('a destroyed stream ends its source, but no request', async () => {
  const body = new PassThrough()
  passOn(
    body,
    new PassThrough().on('error', () => {}),
  ).destroy(new Error('full'))
  await once(body, 'close')
  const server = createServer((incoming, response) => {
    const target = passOn(
      incoming,
      new PassThrough().on('error', () => {}),
    )
    target.destroy(new Error('full'))
    target.once('close', () => response.end(`${incoming.destroyed} ${incoming.socket !== null}`))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const sent = request({ port: (server.address() as AddressInfo).port, method: 'POST' })
  sent.write('something')
  const [answer] = await once(sent, 'response')
  expect(String(await buffer(answer))).toBe('false true')
  sent.destroy()
  server.closeAllConnections()
  server.close()
})
