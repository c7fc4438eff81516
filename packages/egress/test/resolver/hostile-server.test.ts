import type { Socket } from 'node:net'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type LookupResult, Resolver } from '../../src/resolver/resolver.ts'
import { makeServerList } from '../../src/resolver/servers.ts'
import { startDnsServer, type TestDnsServer } from '../support/dns-server.ts'

const good = '192.0.2.1'
const forged = '192.0.2.66'

let dns: TestDnsServer
let resolver: Resolver

beforeEach(async () => {
  dns = await startDnsServer({ 'a.example': { A: [good] } })
  resolver = new Resolver(makeServerList([dns.address]))
})
afterEach(async () => {
  resolver.close()
  vi.useRealTimers()
  await dns[Symbol.asyncDispose]()
})

const texts = (result: LookupResult) =>
  result.type === 'found' ? result.addresses.map(({ text }) => text) : result.type
const lookup = async () => texts(await resolver.lookup('a.example'))

/** Returns the answer with other bytes at an offset. */
function changed(answer: Buffer, at: number, bytes: readonly number[]): Buffer {
  const copy = Buffer.from(answer)
  copy.set(bytes, at < 0 ? copy.length + at : at)
  return copy
}

/** Returns the answer with a record of another owner appended. */
function withRecord(answer: Buffer, record: Buffer): Buffer {
  const longer = Buffer.concat([answer, record])
  longer.writeUInt16BE(answer.readUInt16BE(6) + 1, 6)
  return longer
}

/** Bytes of the one record of an answer: a name written out, and its data. */
const recordBytes = '\x01a\x07example\0'.length + 14

test.each<[string, (answer: Buffer) => Buffer, LookupResult['type'] | readonly string[]]>([
  ['nothing wrong', (answer) => answer, [good]],
  ['another id', (answer) => changed(answer, 1, [(answer[1] ?? 0) ^ 1]), 'failed'],
  ['a query in its place', (answer) => changed(answer, 2, [0x01]), 'failed'],
  ['another question', (answer) => changed(answer, 13, [0x7a]), 'failed'],
  [
    'a name that points at itself',
    (answer) => changed(answer, -recordBytes, pointer(answer.length - recordBytes)),
    'failed',
  ],
  ['a name that points ahead', (answer) => changed(answer, -recordBytes, pointer(answer.length - 4)), 'failed'],
  ['an address of five bytes', (answer) => changed(Buffer.concat([answer, Buffer.of(1)]), -7, [0, 5]), 'failed'],
  ['more records than it has', (answer) => changed(answer, 6, [0xff, 0xff]), 'failed'],
])('an answer with %s is read as it should be', async (_name, change, expected) => {
  // Over TCP each connection has one answer, so the end of the lookup does not depend on time.
  dns.quirks = { truncates: true, overTcp: (socket, answer) => void socket.end(changeRecord(answer, change)) }
  expect(await lookup()).toEqual(expected)
})

function pointer(offset: number): readonly number[] {
  return [0xc0 | (offset >> 8), offset & 0xff]
}

/** Changes answers over TCP that have a record, and leaves others unchanged. */
function changeRecord(answer: Buffer, change: (answer: Buffer) => Buffer): Buffer {
  const message = answer.subarray(2)
  const sent = message.readUInt16BE(6) === 1 ? change(message) : message
  return Buffer.concat([Buffer.of(sent.length >> 8, sent.length & 0xff), sent])
}

test.each(['\0', '.', ' ', '\x1b[2J'])('a name with %j in a label is refused', async (odd) => {
  const owner = Buffer.concat([Buffer.from([`a${odd}example`.length]), Buffer.from(`a${odd}example\0`)])
  const rest = Buffer.from([0, 1, 0, 1, 0, 0, 0, 9, 0, 4, 192, 0, 2, 66])
  dns.quirks = { rewrite: (answer) => withRecord(changed(answer, 6, [0, 0]), Buffer.concat([owner, rest])) }
  // The answer's own record is no longer counted, and is not read.
  dns.zone = { 'a.example': {} }
  expect(await lookup()).toBe('no_address')
})

test('a record of another class is ignored', async () => {
  dns.quirks = { rewrite: (answer) => (answer.readUInt16BE(6) === 1 ? changed(answer, -12, [0, 3]) : answer) }
  expect(await lookup()).toBe('no_address')
})

test('of thousands of addresses only a few are used', async () => {
  const many = Array.from({ length: 2_000 }, (_, at) => `192.0.2.${at % 256}`)
  dns.zone = { 'a.example': { A: many } }
  dns.quirks = { truncates: true }
  expect(await lookup()).toEqual(many.slice(0, 16))
})

test('alias chains are limited', async () => {
  const names = Array.from({ length: 40 }, (_, at) => `n${at}.example`)
  dns.zone = Object.fromEntries(names.map((name, at) => [name, { CNAME: names[at + 1] ?? 'end.example' }]))
  expect(texts(await resolver.lookup('n0.example'))).toBe('failed')
  dns.zone = { 'self.example': { CNAME: 'self.example' } }
  expect(texts(await resolver.lookup('self.example'))).toBe('failed')
})

test('a TCP answer without a length and an end is dropped at once', async () => {
  const connections: Socket[] = []
  dns.quirks = {
    truncates: true,
    overTcp: (socket) => {
      connections.push(socket)
      socket.write(Buffer.alloc(2))
      const more = () => {
        if (socket.destroyed) return
        socket.write(Buffer.alloc(1024))
        setImmediate(more)
      }
      more()
    },
  }
  expect(await lookup()).toBe('failed')
  for (const socket of connections) await closeOf(socket)
  // Both sides run in a few turns of the event loop; a waiting one has a thousand turns in a
  // second.
  for (const socket of connections) expect(socket.bytesWritten).toBeLessThan(256 * 1024)
  expect(dns.queries.filter((query) => query.startsWith('tcp')).length).toBeGreaterThan(2)
})

/** An end by a reset counts. */
async function closeOf(socket: Socket): Promise<void> {
  if (!socket.closed) await new Promise<void>((resolve) => socket.once('close', () => resolve()))
}

test('a TCP answer byte by byte is read', async () => {
  dns.quirks = {
    truncates: true,
    overTcp: async (socket, answer) => {
      socket.setNoDelay()
      for (const byte of answer) {
        socket.write(Buffer.from([byte]))
        await new Promise((resolve) => setImmediate(resolve))
      }
    },
  }
  expect(await lookup()).toEqual([good])
})

test('an answer with an extreme lifetime is queried again', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  dns.zone = { 'a.example': { A: [good], ttlSecs: 0xffffffff } }
  expect(await lookup()).toEqual([good])
  dns.zone = { 'a.example': { A: [forged] } }
  expect(await lookup()).toEqual([good])
  vi.advanceTimersByTime(301_000)
  expect(await lookup()).toEqual([forged])
})
