import { buffer } from 'node:stream/consumers'
import { readTar } from '@holt/tar'
import { pack } from 'tar-stream'
import { describe, expect, test } from 'vitest'
import { consume } from './support/consume.ts'
import { piecesOf } from './support/pieces.ts'

/** An archive in memory; a header's checksum is set unless the test breaks it. */
function header(fields: { name?: string; size?: string; typeflag?: string; mtime?: string; magic?: string }): Buffer {
  const block = Buffer.alloc(512)
  block.write(fields.name ?? 'f', 0, 'latin1')
  block.write('0000644\0', 100)
  block.write('0000000\0', 108)
  block.write('0000000\0', 116)
  block.write(fields.size ?? '00000000000\0', 124, 'latin1')
  block.write(fields.mtime ?? '00000000000\0', 136, 'latin1')
  block.write(fields.typeflag ?? '0', 156)
  block.write(fields.magic ?? 'ustar\x0000', 257, 'latin1')
  block.write('        ', 148)
  block.write(
    `${block
      .reduce((sum, byte) => sum + byte)
      .toString(8)
      .padStart(6, '0')}\0 `,
    148,
  )
  return block
}

function extended(records: string, typeflag = 'x'): Buffer {
  const body = Buffer.alloc(Math.ceil(records.length / 512) * 512)
  body.write(records, 'latin1')
  return Buffer.concat([
    header({ name: 'pax', typeflag, size: `${records.length.toString(8).padStart(11, '0')}\0` }),
    body,
  ])
}

function record(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`
  const digits = String(rest.length + String(rest.length + 2).length)
  return `${rest.length + digits.length}${rest}`
}

const END = Buffer.alloc(1024)
const sparseRecords = `${record('GNU.sparse.size', '0')}${record('GNU.sparse.map', '')}${record('GNU.sparse.name', 's')}`
const read = (...parts: Buffer[]): ReturnType<typeof consume> => consume(readTar(piecesOf(Buffer.concat(parts))))

describe('an archive by tar-stream', () => {
  test('is read as it was packed, in pieces of any size', async () => {
    const archive = pack()
    archive.entry(
      { name: 'a/b', mode: 0o600, uid: 1, gid: 2, mtime: new Date(5000), pax: { mtime: '5.25' } },
      'content',
    )
    archive.entry({ name: 'ü'.repeat(200), type: 'symlink', linkname: 'ß'.repeat(200) })
    archive.finalize()
    const bytes = await buffer(archive)
    for (const size of [1, 7, 512, 513, bytes.length]) {
      const entries = await consume(readTar(piecesOf(bytes, size)))
      expect(entries).toMatchObject([
        { path: 'a/b', type: 'file', content: 'content', mode: 0o600, uid: 1, gid: 2, mtimeSecs: 5, mtimeNanos: 25e7 },
        { type: 'symlink', path: Buffer.from('ü'.repeat(200)).toString('latin1') },
      ])
      expect(entries[1]?.linkTarget).toBe(Buffer.from('ß'.repeat(200)).toString('latin1'))
    }
  })
})

describe('details of the format', () => {
  test('unread content is skipped', async () => {
    const paths: string[] = []
    const parts = [header({ name: 'a', size: '00000001000\0' }), Buffer.alloc(512, 1), header({ name: 'b' }), END]
    for await (const entry of readTar(piecesOf(Buffer.concat(parts)))) paths.push(Buffer.from(entry.path).toString())
    expect(paths).toEqual(['a', 'b'])
  })

  test('content cannot be read after the next entry', async () => {
    const parts = [header({ name: 'a', size: '00000001000\0' }), Buffer.alloc(512, 1), header({ name: 'b' }), END]
    const entries = await Array.fromAsync(readTar(piecesOf(Buffer.concat(parts))))
    const first = entries[0]
    if (first?.type !== 'file' || first.body === undefined) throw new Error('the first entry is a file')
    await expect(Array.fromAsync(first.body)).rejects.toThrow('after the entry behind it')
  })

  test.each([
    ['1.5', 1, 500_000_000],
    ['-1.5', -2, 500_000_000],
    ['-0.25', -1, 750_000_000],
    ['-3', -3, 0],
    ['7.1234567899', 7, 123_456_789],
  ])('a pax time of %s', async (text, mtimeSecs, mtimeNanos) => {
    expect(await read(extended(record('mtime', text)), header({}), END)).toMatchObject([{ mtimeSecs, mtimeNanos }])
  })

  test('numbers in base 256, negative ones too', async () => {
    const minusTwo = `\xff${'\xff'.repeat(10)}\xfe`
    expect(await read(header({ mtime: minusTwo }), END)).toMatchObject([{ mtimeSecs: -2 }])
    const three = `\x80${'\0'.repeat(10)}\x03`
    expect(await read(header({ size: three }), Buffer.alloc(512, 65), END)).toMatchObject([{ size: 3, content: 'AAA' }])
  })

  test('an extended header applies to one entry, a global one to all, and only for shared fields', async () => {
    const global = extended(record('uid', '7') + record('path', 'everything'), 'g')
    const own = extended(record('uid', '8') + record('path', 'renamed'))
    const entries = await read(global, header({ name: 'a' }), own, header({ name: 'b' }), header({ name: 'c' }), END)
    expect(entries).toMatchObject([
      { path: 'a', uid: 7 },
      { path: 'renamed', uid: 8 },
      { path: 'c', uid: 7 },
    ])
  })

  test('a name that ends in a slash is a directory', async () => {
    expect(await read(header({ name: 'd/' }), END)).toMatchObject([{ path: 'd/', type: 'directory' }])
  })

  test('an archive without its end, or with bytes after it, is accepted', async () => {
    expect(await read(header({ name: 'a' }))).toHaveLength(1)
    expect(await read(header({ name: 'a' }), END, Buffer.alloc(20_000, 1))).toHaveLength(1)
  })

  test.each([
    ['a wrong checksum', [Buffer.from(header({})).fill('x', 0, 1)], 'tar_malformed'],
    ['text that is no archive', [Buffer.alloc(1024, 'hello ')], 'tar_malformed'],
    ['half a header', [header({}).subarray(0, 300)], 'tar_truncated'],
    ['missing content', [header({ size: '00000002000\0' }), Buffer.alloc(512, 1)], 'tar_truncated'],
    ['a size that is no number', [header({ size: '0000000x000\0' })], 'tar_malformed'],
    ['a negative size', [header({ size: `\xff${'\xff'.repeat(11)}` })], 'tar_malformed'],
    ['a size beyond 2^53', [header({ size: `\x80${'\xff'.repeat(11)}` })], 'tar_malformed'],
    ['an unknown type', [header({ typeflag: 'Q' })], 'tar_type_unsupported'],
    ['an entry behind a zero block', [Buffer.alloc(512), header({})], 'tar_malformed'],
    ['a huge extended header', [header({ typeflag: 'x', size: '77777777777\0' })], 'tar_malformed'],
    ['a record without a length', [extended('x path=a\n'), header({})], 'tar_malformed'],
    ['a record longer than its header', [extended('99 path=a\n'), header({})], 'tar_malformed'],
    ['a record of length 0', [extended('0 path=a\n'), header({})], 'tar_malformed'],
    ['a record behind which is no other', [extended(`${record('path', 'a')}more`), header({})], 'tar_malformed'],
    ['a record without =', [extended('9 pathaa\n'), header({})], 'tar_malformed'],
    ['a sparse map for a link', [extended(sparseRecords), header({ typeflag: '2' })], 'tar_malformed'],
    ['two sparse maps', [extended(sparseRecords), header({ typeflag: 'S' })], 'tar_malformed'],
    ['a pax size that is no number', [extended(record('size', '1e3')), header({})], 'tar_malformed'],
    ['a negative pax size', [extended(record('size', '-5')), header({})], 'tar_malformed'],
    [
      'overlapping sparse parts',
      [extended(record('GNU.sparse.size', '9') + record('GNU.sparse.map', '0,4,2,4')), header({})],
      'tar_malformed',
    ],
    [
      'a sparse part outside its file',
      [extended(record('GNU.sparse.size', '9') + record('GNU.sparse.map', '8,4')), header({})],
      'tar_malformed',
    ],
    [
      'an odd sparse map',
      [extended(record('GNU.sparse.size', '9') + record('GNU.sparse.map', '8')), header({})],
      'tar_malformed',
    ],
    [
      'a sparse map without end',
      [
        extended(record('GNU.sparse.major', '1') + record('GNU.sparse.realsize', '9')),
        header({ size: '00000001000\0' }),
        Buffer.alloc(512, '1\n'),
      ],
      'tar_malformed',
    ],
  ])('refuses %s', async (_, parts, code) => {
    await expect(read(...parts)).rejects.toMatchObject({ name: 'TarError', code })
  })

  test('of a chain of extended headers only the last one stays in memory', async () => {
    async function* chain(): AsyncGenerator<Buffer> {
      for (let at = 0; at < 20_000; at += 1) yield extended(record(`SCHILY.xattr.user.${at}`, 'y'.repeat(10_000)))
      yield header({ name: 'a' })
    }
    const entries = await consume(readTar(chain()))
    expect([...(entries[0]?.xattrs?.keys() ?? [])]).toEqual(['user.19999'])
  })
})
