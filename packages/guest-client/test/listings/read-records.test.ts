import { Readable } from 'node:stream'
import { testSeed } from '@holt/testkit'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { GuestClient } from '../../src/index.ts'
import type { ListingRecord } from '../../src/listings/listed-entry.ts'
import { readRecords } from '../../src/listings/read-records.ts'

interface Parts {
  readonly kind: string
  readonly flags?: number
  readonly name?: Buffer
  readonly target?: Buffer
  readonly size?: bigint
  readonly digest?: Buffer
  readonly content?: Buffer
}

const none = Buffer.alloc(0)

function record({
  kind,
  flags = 0,
  name = none,
  target = none,
  size = 0n,
  digest = none,
  content = none,
}: Parts): Buffer {
  const head = Buffer.alloc(62)
  head.write(kind, 0, 'latin1')
  head[1] = flags
  head.writeUInt16BE(name.length, 2)
  head.writeUInt16BE(target.length, 4)
  head.writeBigUInt64BE(size, 18)
  head.writeBigUInt64BE(BigInt(content.length), 54)
  return Buffer.concat([head, digest, name, target, content])
}

async function read(bytes: Buffer, piece = bytes.length, maxContentBytes = 100): Promise<ListingRecord[]> {
  async function* pieces() {
    for (let at = 0; at < bytes.length; at += piece) yield bytes.subarray(at, at + piece)
  }
  const records: ListingRecord[] = []
  for await (const group of readRecords(pieces(), { maxContentBytes })) records.push(...group)
  return records
}

const end = record({ kind: 'e' })
const name = fc
  .uint8Array({ minLength: 1, maxLength: 20 })
  .map((bytes) => Buffer.from(bytes.map((byte) => byte | 0x40)))

test('records are read in pieces of any length', async () => {
  const entry = fc.record({
    name,
    content: fc.uint8Array({ maxLength: 90 }),
    digest: fc.uint8Array({ minLength: 32, maxLength: 32 }),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(entry, { maxLength: 8 }), fc.integer({ min: 1, max: 200 }), async (entries, piece) => {
      const written = entries.map(({ name, content, digest }) =>
        record({ kind: 'f', flags: 48, name, content: Buffer.from(content), digest: Buffer.from(digest), size: 7n }),
      )
      const records = await read(Buffer.concat([...written, end]), piece)
      expect(records.at(-1)).toEqual({ kind: 'end', leftOut: 0 })
      expect(records.slice(0, -1)).toMatchObject(
        entries.map(({ name, content, digest }) => ({
          name,
          size: 7,
          content: Buffer.from(content),
          sha256: Buffer.from(digest),
        })),
      )
    }),
    { seed: testSeed() | 0 },
  )
})

test.each([
  ['no end', record({ kind: 'u' })],
  ['a cut record', record({ kind: 'f', name: Buffer.from('abc') }).subarray(0, -1)],
  ['bytes after the end', Buffer.concat([end, Buffer.from('x')])],
  ['an unknown kind', Buffer.concat([record({ kind: 'x' }), end])],
  ['a name with a slash', Buffer.concat([record({ kind: 'f', name: Buffer.from('a/b') }), end])],
  ['the name ..', Buffer.concat([record({ kind: 'f', name: Buffer.from('..') }), end])],
  ['a name with NUL', Buffer.concat([record({ kind: 'f', name: Buffer.from('a\0') }), end])],
  ['a long name', Buffer.concat([record({ kind: 'f', name: Buffer.alloc(256, 'a') }), end])],
  ['a long target', Buffer.concat([record({ kind: 'l', target: Buffer.alloc(4097, 'a') }), end])],
  ['too much content', Buffer.concat([record({ kind: 'f', flags: 32, content: Buffer.alloc(101) }), end])],
  ['an impossible size', Buffer.concat([record({ kind: 'f', size: 2n ** 63n }), end])],
])('a listing with %s is a wrong answer', async (_, bytes) => {
  await expect(read(bytes)).rejects.toMatchObject({ kind: 'wrong_answer' })
})

test('a guest without listings is reported as too old', async () => {
  const body = Readable.from(['{"error":{"code":"route_not_found","message":"no such route"}}'])
  const guest = new GuestClient({ connected: true, request: async () => ({ status: 404, headers: {}, body }) })
  const listing = guest.listings.tree({ path: Buffer.from('/'), prune: true }, AbortSignal.timeout(10_000))
  await expect(listing.next()).rejects.toMatchObject({ code: 'not_supported_here' })
})

test('no bytes make the reader fail in another way', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 400 }), async (bytes) => {
      const kind = await read(Buffer.from(bytes)).then(
        () => 'wrong_answer',
        (error: { kind?: string }) => error.kind,
      )
      expect(kind).toBe('wrong_answer')
    }),
    { seed: testSeed() | 0 },
  )
})
