import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer, type Http2Server, type ServerHttp2Stream } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import { EngineError } from '@holt/engine'
import { expect, onTestFinished, test, vi } from 'vitest'
import { bytesInUse, keptOfThoseWhoLeave } from '../../../async/test/support/pieces.ts'
import { layoutOf } from '../../src/installation/layout.ts'
import { GuestListener } from '../../src/link/guest-listener.ts'
import { temporaryDirectory } from '../support/test-machine.ts'

const log = { debug() {}, info() {}, warn() {}, error() {} }
const signal = () => AbortSignal.timeout(10_000)
type Answer = (stream: ServerHttp2Stream, path: string) => void

async function openListener() {
  const dir = await temporaryDirectory()
  const paths = layoutOf(dir.path, dir.path).runtime('a'.repeat(22))
  const dropped = Promise.withResolvers<void>()
  const listener = new GuestListener(paths, log, { owner: 0, onDrop: () => dropped.resolve() })
  await listener.open()
  onTestFinished(async () => {
    await listener.close(new EngineError('unavailable', 'the test ended'))
    await dir[Symbol.asyncDispose]()
  })
  return { listener, path: paths.socket, dropped: dropped.promise }
}

/** Dials as the guest does: it connects, and serves on what it has connected. */
function dial(path: string, answer: Answer): { socket: Socket; server: Http2Server } {
  const socket = connect(path)
  return { socket, server: serve(socket, answer) }
}

/** Is the guest on a connection. */
function serve(socket: Socket, answer: Answer): Http2Server {
  const server = createServer()
  server.on('stream', (stream, headers) => answer(stream, String(headers[':path'])))
  server.on('sessionError', () => {}) // The tests cut connections.
  socket.on('error', () => {}) // The tests cut connections.
  server.emit('connection', socket)
  return server
}

const say =
  (text: string): Answer =>
  (stream) => {
    stream.on('error', () => {}) // The tests cut streams.
    stream.respond({ ':status': 200, 'x-name': text })
    stream.end(text)
  }

async function get(listener: GuestListener, path = '/'): Promise<string> {
  const { body } = await listener.request({ method: 'GET', path, signal: signal() })
  return (await buffer(body)).toString()
}

test('waits for the guest, then carries requests both ways', async () => {
  const { listener, path } = await openListener()
  const waiting = listener.whenConnected(signal())
  expect(listener.connected).toBe(false)
  dial(path, (stream) => {
    stream.respond({ ':status': 207, 'x-a': 'b' })
    stream.pipe(stream)
  })
  await waiting
  const body = Buffer.alloc(5 * 2 ** 20, 'x')
  const answer = await listener.request({ method: 'PUT', path: '/echo', body: Readable.from([body]), signal: signal() })
  expect(answer).toMatchObject({ status: 207, headers: { 'x-a': 'b' } })
  expect((await buffer(answer.body)).equals(body)).toBe(true)
})

test('uses the newest connection of the guest', async () => {
  const { listener, path } = await openListener()
  dial(path, say('old'))
  await listener.whenConnected(signal())
  expect(await get(listener)).toBe('old')
  dial(path, say('new'))
  await expect.poll(() => get(listener).catch(() => 'between')).toBe('new')
})

test('reports unavailable without a connection, and after a break before or within the answer', async () => {
  const { listener, path, dropped } = await openListener()
  await expect(get(listener)).rejects.toMatchObject({ kind: 'unavailable' })
  const guest = dial(path, (stream, where) => {
    stream.on('error', () => {}) // The test cuts it.
    if (where === '/half') {
      stream.respond({ ':status': 200 })
      stream.write('half')
    }
    if (where === '/cut') guest.socket.destroy()
  })
  await listener.whenConnected(signal())
  const half = await listener.request({ method: 'GET', path: '/half', signal: signal() })
  await expect(listener.request({ method: 'GET', path: '/cut', signal: signal() })).rejects.toMatchObject({
    kind: 'unavailable',
  })
  await expect(buffer(half.body)).rejects.toMatchObject({ kind: 'unavailable' })
  await dropped
  expect(listener.connected).toBe(false)
})

test('sends nothing to a guest that is leaving with an open stream, until it connects again', async () => {
  const { listener, path } = await openListener()
  dial(path, (stream) => {
    stream.on('error', () => {}) // The listener cuts it.
    stream.respond({ ':status': 200 })
    stream.write('and on')
    stream.session?.goaway()
  })
  await listener.whenConnected(signal())
  const { body } = await listener.request({ method: 'GET', path: '/', signal: signal() })
  body.on('error', () => {}) // The new connection ends the old one.
  await expect.poll(() => listener.connected).toBe(false)
  await expect(get(listener)).rejects.toMatchObject({ kind: 'unavailable' })
  dial(path, say('again'))
  await listener.whenConnected(signal())
  expect(await get(listener)).toBe('again')
})

test('ends a request with its signal, and the guest sees the end of the stream', async () => {
  const { listener, path } = await openListener()
  const closed = Promise.withResolvers<void>()
  dial(path, (stream) => {
    stream.on('error', () => {}) // It is reset.
    stream.on('close', () => closed.resolve())
    stream.respond({ ':status': 200 })
    stream.write('and then nothing')
  })
  await listener.whenConnected(signal())
  const stop = new AbortController()
  const { body } = await listener.request({ method: 'GET', path: '/', signal: stop.signal })
  const read = buffer(body)
  stop.abort(new Error('enough'))
  await expect(read).rejects.toThrow('enough')
  await closed.promise
})

test('reads only as fast as its reader', async () => {
  const { listener, path } = await openListener()
  let written = 0
  const stopped = Promise.withResolvers<void>()
  dial(path, (stream) => {
    stream.on('error', () => {}) // It is reset at the end.
    stream.respond({ ':status': 200 })
    const more = () => {
      while (written < 64 * 2 ** 20) {
        written += 65_536
        if (!stream.write(Buffer.alloc(65_536))) {
          const stuck = setTimeout(stopped.resolve, 300)
          stream.once('drain', () => {
            clearTimeout(stuck)
            more()
          })
          return
        }
      }
      stopped.resolve()
    }
    more()
  })
  await listener.whenConnected(signal())
  const { body } = await listener.request({ method: 'GET', path: '/', signal: signal() })
  await stopped.promise
  expect(written).toBeLessThan(32 * 2 ** 20)
  body.destroy()
})

/**
 * Answers with endless items until it is told to quiesce, which it grants or not; then it ends what
 * it has begun, and the connection.
 */
function flood(grant: boolean) {
  let sent = 0
  let ending = false
  const answer: Answer = (stream, path) => {
    stream.on('error', () => {}) // The tests cut streams.
    if (path === '/v1/quiesce') {
      ending = grant
      stream.respond({ ':status': grant ? 200 : 409 })
      stream.end('{}')
      return
    }
    stream.respond({ ':status': 200, 'content-type': 'application/x-ndjson' })
    stream.on('finish', () => stream.session?.close())
    const more = () => {
      if (ending) {
        stream.end()
        return
      }
      if (stream.destroyed) return
      sent += 65_536
      stream.write(Buffer.alloc(65_536), more)
    }
    more()
  }
  return { answer, sent: () => sent }
}

/** Resolves when a number grows no longer. */
async function settled(value: () => number): Promise<number> {
  let before = -1
  await expect
    .poll(
      () => {
        const same = value() > 0 && value() === before
        before = value()
        return same
      },
      { interval: 200, timeout: 10_000 },
    )
    .toBe(true)
  return value()
}

test('delivers all data that a guest sent before a checkpoint, even to a slow reader', async () => {
  const { listener, path, dropped } = await openListener()
  const guest = flood(true)
  dial(path, guest.answer)
  await listener.whenConnected(signal())
  const { body } = await listener.request({ method: 'GET', path: '/items', signal: signal() })
  await settled(guest.sent)
  const quiesced = await listener.request({
    method: 'POST',
    path: '/v1/quiesce',
    body: Buffer.from('{}'),
    signal: signal(),
  })
  expect(quiesced.status).toBe(200)
  quiesced.body.resume()
  await dropped
  expect((await buffer(body)).length).toBe(guest.sent())
})

test('sends nothing more on a connection that its guest closes for a checkpoint', async () => {
  const { listener, path } = await openListener()
  const guest = dial(path, say('guest'))
  await listener.whenConnected(signal())
  const closed = new Promise((resolve) => guest.socket.on('close', resolve))
  await get(listener, '/v1/quiesce')
  expect(listener.connected).toBe(false)
  dial(path, say('again'))
  await listener.whenConnected(signal())
  expect(await get(listener)).toBe('again')
  await closed
})

test('stops its read-ahead when a guest refuses a checkpoint', async () => {
  const { listener, path } = await openListener()
  const guest = flood(false)
  dial(path, guest.answer)
  await listener.whenConnected(signal())
  const { body } = await listener.request({ method: 'GET', path: '/items', signal: signal() })
  const before = await settled(guest.sent)
  const refused = await listener.request({
    method: 'POST',
    path: '/v1/quiesce',
    body: Buffer.from('{}'),
    signal: signal(),
  })
  expect(refused.status).toBe(409)
  refused.body.resume()
  expect((await settled(guest.sent)) - before).toBeLessThan(32 * 2 ** 20)
  body.destroy()
})

test('ignores a connection that is not the guest', async () => {
  const { listener, path } = await openListener()
  dial(path, say('guest'))
  await listener.whenConnected(signal())
  const junk = connect(path)
  junk.on('error', () => {}) // It is cut.
  const ended = new Promise((resolve) => junk.on('close', resolve))
  junk.resume()
  junk.write('GET / HTTP/1.0\r\n\r\n'.repeat(10))
  await ended
  expect(await get(listener)).toBe('guest')
})

test('lets the guest close its end before a checkpoint, and accepts it again afterwards', async () => {
  const { listener, path } = await openListener()
  const guest = dial(path, say('guest'))
  await listener.whenConnected(signal())
  const closed = new Promise((resolve) => guest.socket.on('close', resolve))
  await listener.leave()
  await closed
  expect(listener.connected).toBe(false)
  await listener.open()
  dial(path, say('again'))
  await listener.whenConnected(signal())
  expect(await get(listener)).toBe('again')
})

test('also ends the connection of a guest that connected last, without a full wait', async () => {
  const { listener, path } = await openListener()
  const late = connect(path).pause()
  // The listener takes connections in their order: when it speaks to the second it has the first.
  const second = connect(path)
  await once(second, 'data')
  second.destroy()
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const left = listener.leave()
  // It speaks when the listener has begun to wait for it. A poll would have the faked time go on.
  while (existsSync(path)) await setImmediate()
  for (let turns = 0; turns < 50; turns += 1) await setImmediate()
  serve(late, say('late'))
  late.resume()
  await left
  expect(listener.connected).toBe(false)
})

test('tells waiting callers why it closes', async () => {
  const { listener } = await openListener()
  const waiting = listener.whenConnected(signal())
  await Promise.all([
    expect(waiting).rejects.toMatchObject({ kind: 'gone' }),
    listener.close(new EngineError('gone', 'it has ended')),
  ])
})

/** A frame of HTTP/2 (RFC 9113, 4.1). */
function frame(kind: number, { flags = 0, stream = 0, payload = Buffer.alloc(0) } = {}): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(kind, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

const kinds = { data: 0, headers: 1, settings: 4, ping: 6 }

/** Waits until a frame of a kind has come. */
async function frameFrom(socket: Socket, wanted: number): Promise<void> {
  let rest = Buffer.alloc(0)
  for await (const part of socket.iterator({ destroyOnReturn: false })) {
    rest = Buffer.concat([rest, part])
    if (rest.toString('latin1', 0, 3) === 'PRI') rest = rest.subarray(24)
    for (
      ;
      rest.length >= 9 && rest.length >= 9 + rest.readUIntBE(0, 3);
      rest = rest.subarray(9 + rest.readUIntBE(0, 3))
    )
      if (rest[3] === wanted) return
  }
}

test.each([
  ['frames of one byte', frame(kinds.data, { stream: 1, payload: Buffer.of(32) }), 200_000],
  [
    'frames of one byte, each with much else',
    Buffer.concat([
      frame(kinds.data, { stream: 1, payload: Buffer.of(32) }),
      frame(0xf0, { payload: Buffer.alloc(2 ** 16 - 18) }),
    ]),
    1_000,
  ],
])('%s that are not read use little more memory than their bytes', async (_, frames, count) => {
  const { listener, path } = await openListener()
  const socket = connect(path)
  socket.on('error', () => {}) // The test ends before the guest does.
  socket.write(Buffer.concat([frame(kinds.settings), frame(kinds.settings, { flags: 1 })]))
  await listener.whenConnected(signal())
  const answer = listener.request({ method: 'GET', path: '/', signal: signal() })
  await frameFrom(socket, kinds.headers)
  socket.write(frame(kinds.headers, { flags: 4, stream: 1, payload: Buffer.of(0x88) }))
  const { body } = await answer
  body.on('error', () => {}) // It is never read.
  const before = await bytesInUse()
  const some = Buffer.concat(Array<Buffer>(10).fill(frames))
  for (let n = 0; n < count; n += 10) if (!socket.write(some)) await once(socket, 'drain')
  socket.write(frame(kinds.ping, { payload: Buffer.alloc(8) }))
  await frameFrom(socket, kinds.ping)
  // Memory of data read from the socket is freed a moment after it became garbage.
  await expect.poll(async () => (await bytesInUse()) - before).toBeLessThan(10 * 2 ** 20)
})

test('forgets cancelled waits for a guest that never connects', async () => {
  const { listener } = await openListener()
  expect(await keptOfThoseWhoLeave((leaving) => listener.whenConnected(leaving))).toBeLessThanOrEqual(1)
})
