import { buffer } from 'node:stream/consumers'
import { type Entry, readTar, writeTar } from '@holt/tar'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { consume } from './support/consume.ts'
import { piecesOf } from './support/pieces.ts'

/** Bytes of a name, of which many are not UTF-8. An empty value would revoke a record. */
const name = fc.oneof(
  fc.uint8Array({ minLength: 1, maxLength: 150 }).map((bytes) => Buffer.from(bytes.map((byte) => byte || 0x61))),
  fc.stringMatching(/^[a-z]{1,120}$/).map((text) => Buffer.from(text)),
)
const id = fc.oneof(fc.nat(0o7777777), fc.constantFrom(0o7777777, 0o10000000, 0xffff_fffe))
const attributes = {
  path: name.filter((bytes) => bytes.at(-1) !== 0x2f),
  mode: fc.nat(0o7777),
  uid: id,
  gid: id,
  mtimeSecs: fc.oneof(fc.integer({ min: -1e10, max: 1e10 }), fc.constantFrom(-1, 0, 8 ** 11 - 1, 8 ** 11)),
  mtimeNanos: fc.oneof(fc.constant(0), fc.nat(999_999_999)),
}
const content = fc.uint8Array({ maxLength: 2000 })

/** An entry, with the content of a file apart, so that the entry can be compared. */
const sketch = fc.oneof(
  fc.record({ ...attributes, type: fc.constant('file' as const), content }),
  fc.record({ ...attributes, type: fc.constantFrom('directory' as const, 'fifo' as const) }),
  fc.record({ ...attributes, type: fc.constantFrom('symlink' as const, 'hardlink' as const), linkTarget: name }),
  fc.record({
    ...attributes,
    type: fc.constantFrom('char' as const, 'block' as const),
    rdev: fc.record({ major: fc.nat(0xfff), minor: fc.nat(0xf_ffff) }),
  }),
)
type Sketch = typeof sketch extends fc.Arbitrary<infer T> ? T : never

async function* entriesOf(sketches: readonly Sketch[]): AsyncGenerator<Entry> {
  for (const each of sketches) {
    if (each.type !== 'file') yield each
    else yield { ...each, size: each.content.length, body: piecesOf(each.content, 700) }
  }
}

const latin1 = (bytes: Uint8Array) => Buffer.from(bytes).toString('latin1')

/** The entry as `consume` shows it. */
function shown(each: Sketch): object {
  const path = latin1(each.path)
  if (each.type === 'file') return { ...each, path, size: each.content.length, content: latin1(each.content) }
  if (each.type === 'symlink' || each.type === 'hardlink') return { ...each, path, linkTarget: latin1(each.linkTarget) }
  return { ...each, path }
}

test('a written archive is read again, in pieces of any size', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(sketch, { maxLength: 6 }), fc.integer({ min: 1, max: 3000 }), async (sketches, size) => {
      const archive = await buffer(writeTar(entriesOf(sketches)))
      expect(archive.length % 512).toBe(0)
      expect(await consume(readTar(piecesOf(archive, size)))).toEqual(sketches.map(shown))
    }),
    { numRuns: 300 },
  )
})

test.each<[string, Partial<Sketch>, number]>([
  ['a plain entry has one header', {}, 1],
  ['an entry with nanoseconds has an extended header', { mtimeNanos: 1 }, 3],
  ['an entry with a large owner has an extended header', { uid: 0o10000000 }, 3],
  ['an entry whose name is not ASCII has an extended header', { path: Buffer.from('\u00fc') }, 3],
])('%s', async (_, change, blocks) => {
  const plain = { path: Buffer.from('d'), mode: 0o755, uid: 1, gid: 2, mtimeSecs: 5, mtimeNanos: 0 }
  const archive = await buffer(writeTar(entriesOf([{ ...plain, type: 'directory', ...change } as Sketch])))
  expect(archive.length / 512).toBe(blocks + 2)
})

test.each([
  ['a negative owner of a hostile archive', { uid: -5 }],
  ['a negative size', { size: -5 }],
])('%s is no number of a header', async (_, change) => {
  const plain = { path: 'f', mode: 0o644, uid: 0, gid: 0, mtimeSecs: 0, mtimeNanos: 0, size: 0 }
  const entries = async function* (): AsyncGenerator<Entry> {
    yield { ...plain, type: 'file', ...change }
  }
  const archive = await buffer(writeTar(entries()))
  expect(archive.includes('-5\n')).toBe(true)
  expect(archive.subarray(1024, 1536).includes('-')).toBe(false)
})

test('a device number that no header holds is refused', async () => {
  const entries = async function* (): AsyncGenerator<Entry> {
    const rdev = { major: 1, minor: 2 ** 40 }
    yield { type: 'char', path: 'tty', rdev, mode: 0o600, uid: 0, gid: 0, mtimeSecs: 0, mtimeNanos: 0 }
  }
  await expect(buffer(writeTar(entries()))).rejects.toMatchObject({ code: 'tar_malformed', path: 'tty' })
})
