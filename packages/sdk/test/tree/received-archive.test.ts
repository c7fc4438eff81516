import { buffer } from 'node:stream/consumers'
import { type Entry, writeTar } from '@holt/tar'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { type ReceivedEntry, readReceived } from '../../src/tree/received-archive.ts'

const plain = { mode: 0o644, uid: 0, gid: 0, mtimeSecs: 0, mtimeNanos: 5 } as const

async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

function archiveOf(entries: readonly Entry[]): Promise<Buffer> {
  return buffer(
    writeTar(
      (async function* () {
        yield* entries
      })(),
    ),
  )
}

type Read = Omit<ReceivedEntry, 'content'> & { readonly content: string }

async function readAll(
  bytes: Buffer,
  size = 700,
): Promise<{ readonly entries: readonly Read[]; readonly comments: readonly string[] }> {
  const entries: Read[] = []
  const comments: string[] = []
  for await (const entry of readReceived(inPieces(bytes, size), (comment) => comments.push(comment))) {
    const parts: Buffer[] = []
    for await (const part of entry.content()) parts.push(Buffer.from(part))
    entries.push({ ...entry, content: Buffer.concat(parts).toString() })
  }
  return { entries, comments }
}

const refused = (bytes: Buffer) =>
  expect(readAll(bytes)).rejects.toMatchObject({ name: 'HoltError', code: 'invalid_archive' })

/** An archive of one file whose name needs an extended header. It has three blocks. */
let good: Buffer
beforeAll(async () => {
  const body = inPieces(Buffer.from('abc'), 2)
  good = await archiveOf([{ ...plain, type: 'file', path: `${'x'.repeat(150)}/y`, size: 3, body }])
})

test('an entry is as the archive describes it', async () => {
  const archive = await archiveOf([
    { ...plain, type: 'directory', path: 'd/', mode: 0o755, mtimeSecs: -2, mtimeNanos: 500_000_000 },
    { ...plain, type: 'symlink', path: Buffer.from('ff2e', 'hex'), linkTarget: 'ä' },
    { ...plain, type: 'symlink', path: 'l', linkTarget: Buffer.from('ff', 'hex') },
    { ...plain, type: 'char', path: 'tty', rdev: { major: 5, minor: 0 } },
  ])
  expect((await readAll(archive)).entries).toMatchObject([
    { path: 'd/', type: 'directory', mode: 0o755, modifiedAtSecs: -1.5, sizeBytes: 0 },
    { path: null, pathBytes: Buffer.from('ff2e', 'hex'), type: 'symlink', target: 'ä' },
    { path: 'l', target: null },
    { path: 'tty', type: 'other' },
  ])
})

test('comments on the archive are reported, and their headers are no entries', async () => {
  const records = Buffer.alloc(512)
  records.write('15 comment=ä!\n')
  const comment = Buffer.concat([retyped(good.subarray(0, 512), { type: 'g', size: '00000000017\0' }), records])
  const { entries, comments } = await readAll(Buffer.concat([comment, good]))
  expect([entries.length, comments]).toEqual([1, ['ä!']])
})

describe('an archive of another program', () => {
  test('is never complete when it is truncated', async () => {
    for (let at = 0; at <= good.length - 1024; at += 128) await refused(good.subarray(0, at))
  })

  test('is read or refused, for any bytes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ at: fc.nat({ max: good.length - 1 }), byte: fc.nat({ max: 255 }) }), { maxLength: 6 }),
        fc.boolean(),
        async (changes, mends) => {
          const bytes = Buffer.from(good)
          for (const { at, byte } of changes) bytes[at] = byte
          if (mends) for (const at of [0, 1024]) mend(bytes, at)
          try {
            await readAll(bytes, 1000)
          } catch (error) {
            expect(error).toMatchObject({ name: 'HoltError', code: 'invalid_archive' })
          }
        },
      ),
      { numRuns: 500 },
    )
  })

  const withFile = (change: Partial<Change>) =>
    Buffer.concat([good.subarray(0, 1024), retyped(good.subarray(1024, 1536), change), good.subarray(1536)])
  const withRecords = (records: string, type = 'x') => {
    const body = Buffer.alloc(512)
    body.write(records)
    const size = `${records.length.toString(8).padStart(11, '0')}\0`
    return Buffer.concat([retyped(good.subarray(0, 512), { type, size }), body, good.subarray(1024)])
  }
  test.each<[string, () => Buffer]>([
    ['a size above that of any file', () => withFile({ size: '77777777777\0' })],
    ['a binary size', () => withFile({ size: `\x80${'\0'.repeat(10)}\x03` })],
    ['a size with bytes after it', () => withFile({ size: '0000000003\0x' })],
    ['a sparse file of GNU', () => withFile({ type: 'S' })],
    ['a file of another type', () => withFile({ type: '7' })],
    ['a long name of GNU', () => Buffer.concat([retyped(good.subarray(0, 512), { type: 'L' }), good.subarray(512)])],
    ['a long target of GNU', () => Buffer.concat([retyped(good.subarray(0, 512), { type: 'K' }), good.subarray(512)])],
    ['a sparse map', () => withRecords('21 GNU.sparse.size=9\n')],
    ['a sparse map for all files', () => withRecords('21 GNU.sparse.size=9\n', 'g')],
    ['an impossible time', () => withRecords('23 mtime=1000000000000\n')],
    ['no end', () => good.subarray(0, good.length - 1024)],
    ['too much after its end', () => Buffer.concat([good, Buffer.alloc(2 << 20)])],
  ])('is refused with %s', async (_, archive) => refused(archive()))
})

interface Change {
  readonly type: string
  readonly size: string
}

/** Returns a header with other fields, and with the right checksum. */
function retyped(header: Buffer, { type, size }: Partial<Change>): Buffer {
  const bytes = Buffer.from(header)
  if (type !== undefined) bytes.write(type, 156, 'latin1')
  if (size !== undefined) bytes.write(size, 124, 'latin1')
  mend(bytes, 0)
  return bytes
}

/** Writes the right checksum of a header. */
function mend(bytes: Buffer, start: number): void {
  let sum = 8 * 0x20
  for (let at = 0; at < 512; at++) if (at < 148 || at >= 156) sum += bytes[start + at] ?? 0
  bytes.write(`${sum.toString(8).padStart(6, '0')}\0 `, start + 148)
}
