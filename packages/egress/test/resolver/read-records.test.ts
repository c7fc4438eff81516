import packet from 'dns-packet'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseAddress } from '../../src/addresses/parse-address.ts'
import { readRecords } from '../../src/resolver/read-records.ts'

const answers = [
  { type: 'CNAME', name: 'a.example', ttl: 5, data: 'B.example' },
  { type: 'A', name: 'b.example', ttl: 6, data: '192.0.2.1' },
  { type: 'TXT', name: 'b.example', ttl: 6, data: 'text' },
  { type: 'AAAA', name: 'b.example', ttl: 7, data: '2001:db8::1' },
] as const
const message = packet.encode({ type: 'response', answers: [...answers] })
const headerLength = 12

test('addresses and aliases are parsed, and other records skipped', () => {
  expect(readRecords(message, headerLength, answers.length)).toEqual([
    { owner: 'a.example', type: 'CNAME', ttlSecs: 5, data: 'b.example' },
    { owner: 'b.example', type: 'A', ttlSecs: 6, data: '192.0.2.1' },
    { owner: 'b.example', type: 'AAAA', ttlSecs: 7, data: '2001:db8::1' },
  ])
})

test('changed bytes are parsed or refused, and parsed records are valid', () => {
  const changes = fc.array(fc.tuple(fc.nat(message.length - 1), fc.nat(255)), { maxLength: 6 })
  fc.assert(
    fc.property(changes, fc.nat(message.length), fc.nat(0xffff), (edits, cut, count) => {
      const bytes = Buffer.from(message)
      for (const [at, byte] of edits) bytes[at] = byte
      const read = readOrError(cut % 3 === 0 ? bytes.subarray(0, cut) : bytes, count)
      if (read instanceof Error) return
      for (const { type, data, owner } of read) {
        if (type !== 'CNAME') expect(parseAddress(data)?.family).toBe(type === 'A' ? 4 : 6)
        expect(owner.length).toBeLessThan(256)
      }
    }),
    { numRuns: 5_000 },
  )
})

test('any bytes are parsed or refused', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), fc.nat(300), fc.nat(0xffff), (bytes, start, count) => {
      readOrError(Buffer.from(bytes), count, start)
    }),
    { numRuns: 5_000 },
  )
})

test('at most 128 records are parsed', () => {
  const many = Array.from({ length: 3_000 }, () => answers[1])
  const bytes = packet.encode({ type: 'response', answers: many })
  expect(readRecords(bytes, headerLength, many.length)).toHaveLength(128)
})

test('a chain of pointers is followed for a limited number of steps', () => {
  // The root name, then pointers, each to the one before.
  const chain = Buffer.alloc(2 * 8_000)
  for (let at = 2; at < chain.length; at += 2) chain.writeUInt16BE(0xc000 + at - 2, at)
  const rest = Buffer.from([0, 1, 0, 1, 0, 0, 0, 9, 0, 4, 192, 0, 2, 66])
  const after = (pointers: number) => {
    const bytes = Buffer.concat([chain.subarray(0, 2 * pointers), chain.subarray(2 * pointers, 2 * pointers + 2), rest])
    return readOrError(bytes, 1, 2 * pointers)
  }
  expect(after(100)).toEqual([{ owner: '', type: 'A', ttlSecs: 9, data: '192.0.2.66' }])
  expect(after(1_000)).toBeInstanceOf(Error)
  expect(after(7_999)).toBeInstanceOf(Error)
})

/** Reads records, or returns the error. Only the reader's own `Error` counts as a refusal. */
function readOrError(bytes: Buffer, count: number, start = headerLength) {
  try {
    return readRecords(bytes, start, count)
  } catch (error) {
    if (!(error instanceof Error) || !error.message.startsWith('a DNS ')) throw error
    return error
  }
}
