import { once } from 'node:events'
import { constants } from 'node:http2'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { bytesInUse } from '../../../async/test/support/pieces.ts'
import { startDnsServer } from '../support/dns-server.ts'
import { policyOf, startRuntime, type TestRuntime, until } from '../support/gateway.ts'
import { drain } from '../support/guest.ts'
import { startTcpHost } from '../support/hosts.ts'
import { fields, flag, frame, frameType, RawGuest } from '../support/raw-http2.ts'

const headers = (stream: number, map: Record<string, string>, flags: number = flag.endHeaders) =>
  frame(frameType.headers, flags, stream, fields(map))
const connectTo = (authority: string) => ({ ':method': 'CONNECT', ':authority': authority })

/** A runtime that floods shares the gateway's process with another, which goes on. */
async function withNeighbour(flood: (guest: RawGuest, runtime: TestRuntime) => Promise<void>): Promise<void> {
  await using dns = await startDnsServer({ 'a.example.com': { A: ['127.0.0.1'] } })
  await using host = await startTcpHost((socket) => socket.end('here'))
  const settings = { resolvers: [dns.address] }
  const allow = [{ host: 'a.example.com', ports: [host.port] }]
  await using neighbour = await startRuntime({ settings, allow })
  await using runtime = await startRuntime({ settings, allow })
  await using guest = await RawGuest.start(runtime.egress)
  await flood(guest, runtime)
  const stream = await neighbour.guest.dial('a.example.com', host.port)
  stream.end()
  expect((await drain(stream)).text).toBe('here')
  expect([...runtime.faults, ...neighbour.faults]).toEqual([])
}

describe('a guest that floods affects only itself:', () => {
  test('streams that are opened and reset end the session', () =>
    withNeighbour(async (guest) => {
      for (let stream = 1; stream < 20_000 && guest.socket.writable; stream += 2)
        guest.send(
          headers(stream, connectTo('198.18.1.0:443')),
          frame(frameType.reset, 0, stream, Buffer.from([0, 0, 0, 8])),
        )
      await guest.ended()
    }))

  test('endless requests are refused, then the session ends', () =>
    withNeighbour(async (guest, runtime) => {
      for (let stream = 1; stream < 40_000 && guest.socket.writable; stream += 2) {
        guest.send(headers(stream, connectTo('198.18.1.0:443'), flag.endHeaders | flag.endStream))
        if (stream % 512 === 1) await new Promise(setImmediate)
      }
      await guest.ended()
      expect(runtime.decisions.length).toBeLessThan(6000)
      expect(runtime.decisions.some(({ rule }) => rule === 'limit')).toBe(true)
    }))

  test('endless settings and pings', () =>
    withNeighbour(async (guest) => {
      const pings = Buffer.concat(Array.from({ length: 1000 }, () => frame(frameType.ping, 0, 0, Buffer.alloc(8))))
      const settings = Buffer.concat(Array.from({ length: 1000 }, () => frame(frameType.settings, 0, 0)))
      guest.socket.pause()
      for (let i = 0; i < 50 && guest.socket.writable; i++) {
        guest.send(pings, settings)
        await new Promise(setImmediate)
      }
      guest.socket.resume()
    }))

  test('headers that are too large, too many or never end', () =>
    withNeighbour(async (guest, runtime) => {
      guest.send(
        headers(1, {
          ...connectTo('198.18.1.0:443'),
          ...Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`x-${i}`, 'y'.repeat(100)])),
        }),
      )
      await until(
        () =>
          guest.frames.some(({ type, stream }) => type === frameType.reset && stream === 1) || guest.socket.destroyed,
        'it is refused',
      )
      await using endless = await RawGuest.start(runtime.egress)
      endless.send(frame(frameType.headers, 0, 1, fields({ ':method': 'CONNECT' })))
      for (let i = 0; i < 5000 && endless.socket.writable; i++) {
        endless.send(frame(frameType.continuation, 0, 1, fields({ [`x-${i}`]: 'y'.repeat(100) })))
        if (i % 100 === 0) await new Promise(setImmediate)
      }
      await endless.ended()
      expect(runtime.decisions).toEqual([])
    }))

  test('bytes that are not HTTP/2', () =>
    withNeighbour(async (_, runtime) => {
      await using guest = await RawGuest.start(runtime.egress)
      guest.socket.write(Buffer.alloc(100_000, 'x'))
      await guest.ended()
    }))

  test('more connections to its socket than a guest needs', () =>
    withNeighbour(async (_, runtime) => {
      const guests = await Promise.all(Array.from({ length: 8 }, () => RawGuest.start(runtime.egress)))
      await until(
        () => guests.filter(({ socket }) => socket.destroyed || socket.readableEnded).length >= 6,
        'most are closed',
      )
      for (const guest of guests) await guest[Symbol.asyncDispose]()
    }))

  test('more connections at once than the limit', async () => {
    await using dns = await startDnsServer({ 'a.example.com': { A: ['127.0.0.1'] } })
    await using host = await startTcpHost()
    await using runtime = await startRuntime({
      settings: { resolvers: [dns.address] },
      allow: [{ host: 'a.example.com', ports: [host.port] }],
    })
    const address = await runtime.guest.resolve('a.example.com')
    await using guest = await RawGuest.start(runtime.egress)
    const streams = Array.from({ length: 300 }, (_, i) => 2 * i + 1)
    for (const stream of streams) guest.connect(stream, `${address}:${host.port}`)
    await Promise.all(Array.from({ length: 300 }, () => runtime.guest.connect(`${address}:${host.port}`)))
    for (const stream of streams) await guest.next(frameType.headers, stream)
    expect(runtime.decisions.some(({ type, rule }) => type === 'connect' && rule === 'limit')).toBe(true)
    await until(() => host.connections === 512, 'the others are there')
    runtime.egress.update({ policy: policyOf() })
    await until(() => runtime.decisions.filter(({ type }) => type === 'close').length >= 512, 'all are cut')
  })

  test('single bytes that nobody reads', async () => {
    await using dns = await startDnsServer({ 'a.example.com': { A: ['127.0.0.1'], ttlSecs: 0 } })
    await using runtime = await startRuntime({
      settings: { resolvers: [dns.address] },
      allow: [{ host: 'a.example.com', ports: [443] }],
    })
    const address = await runtime.guest.resolve('a.example.com')
    dns.quirks = { isSilent: true }
    await delay(1_100) // What is known of a name is kept for a second at the least.
    await using guest = await RawGuest.start(runtime.egress)
    const streams = Array.from({ length: 16 }, (_, i) => 2 * i + 1)
    for (const stream of streams) guest.connect(stream, `${address}:443`)
    const before = await bytesInUse()
    for (const stream of streams) {
      const pieces = Buffer.concat(Array<Buffer>(16 * 1024).fill(frame(frameType.data, 0, stream, Buffer.of(0x16))))
      for (let n = 0; n < 3; n++) {
        // The session has a window as well, which is as large again when this has been read.
        guest.frames.length = 0
        guest.send(pieces, frame(frameType.ping, 0, 0, Buffer.alloc(8)))
        await guest.next(frameType.ping, 0)
      }
    }
    expect(guest.frames.filter(({ stream }) => stream !== 0)).toEqual([])
    expect((await bytesInUse()) - before).toBeLessThan(16 * 2 ** 20)
  })

  test('a ClientHello byte by byte over many connections', async () => {
    await using dns = await startDnsServer({ 'a.example.com': { A: ['127.0.0.1'] } })
    await using host = await startTcpHost()
    await using runtime = await startRuntime({
      settings: { resolvers: [dns.address] },
      allow: [{ host: 'a.example.com', ports: [host.port], protocol: 'tls' }],
    })
    const address = await runtime.guest.resolve('a.example.com')
    await using guest = await RawGuest.start(runtime.egress)
    const streams = Array.from({ length: 64 }, (_, i) => 2 * i + 1)
    for (const stream of streams) guest.connect(stream, `${address}:${host.port}`)
    for (const stream of streams) await guest.next(frameType.headers, stream)
    // A record and a message of 16 KB, of which a part comes.
    const hello = Buffer.concat([Buffer.from('160301400001003ffc0303', 'hex'), Buffer.alloc(1_000)])
    const before = await bytesInUse()
    for (const byte of hello) {
      const pieces = streams.map((stream) => frame(frameType.data, 0, stream, Buffer.of(byte)))
      guest.frames.length = 0
      guest.send(...pieces, frame(frameType.ping, 0, 0, Buffer.alloc(8)))
      await once(guest.socket, 'data')
    }
    await guest.next(frameType.ping, 0)
    expect(guest.frames.filter(({ stream }) => stream !== 0)).toEqual([])
    expect((await bytesInUse()) - before).toBeLessThan(3 * 2 ** 20)
  })

  test('unknown methods and paths', async () => {
    await using runtime = await startRuntime({})
    for (const head of [
      { ':method': 'GET', ':path': '/' },
      { ':method': 'POST', ':path': '/dns-query/x' },
      { ':method': 'GET', ':path': '/dns-query' },
    ]) {
      const stream = runtime.guest.session.request(head)
      const [response] = await new Promise<[Record<string, number>]>((resolve) =>
        stream.once('response', (...args) => resolve(args as never)),
      )
      expect(response[':status']).toBe(404)
      stream.close(constants.NGHTTP2_NO_ERROR)
    }
  })
})
