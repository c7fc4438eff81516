import { execFileSync } from 'node:child_process'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readTar, type TarMember } from '../../src/tar/read-tar.ts'
import { padding, type TarEntry, tarEnd, tarHeader } from '../../src/tar/write-tar.ts'

interface Written extends TarEntry {
  readonly content: Buffer
}

function archiveOf(entries: readonly Written[]): Buffer {
  return Buffer.concat([
    ...entries.flatMap((entry) => [tarHeader(entry), entry.content, padding(entry.content.length)]),
    tarEnd,
  ])
}

async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function readAll(
  source: AsyncIterable<Uint8Array>,
): Promise<(Omit<TarMember, 'content'> & { content: Buffer })[]> {
  const members = []
  for await (const member of readTar(source)) {
    if (member.type === 'comment') continue
    const parts: Buffer[] = []
    for await (const part of member.content()) parts.push(Buffer.from(part))
    members.push({ ...member, content: Buffer.concat(parts) })
  }
  return members
}

const part = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 60 })
  .map((text) => text.toWellFormed().replace(/[/\0]/g, '_'))
const entry: fc.Arbitrary<Written> = fc
  .record({
    path: fc.array(part, { minLength: 1, maxLength: 6 }).map((parts) => parts.join('/')),
    type: fc.constantFrom('file', 'directory', 'symlink', 'hardlink'),
    mode: fc.integer({ min: 0, max: 0o7777 }),
    modifiedAtNs: fc.bigInt({ min: -(10n ** 18n), max: 10n ** 19n }),
    target: fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/')),
    content: fc.uint8Array({ maxLength: 2000 }).map((bytes) => Buffer.from(bytes)),
  })
  .map((sketch) => {
    const content = sketch.type === 'file' ? sketch.content : Buffer.alloc(0)
    const target = sketch.type === 'symlink' || sketch.type === 'hardlink' ? sketch.target : ''
    return { ...sketch, type: sketch.type as TarEntry['type'], target, content, sizeBytes: content.length }
  })

test('a written archive is read again, in pieces of any size', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(entry, { maxLength: 5 }), fc.integer({ min: 1, max: 3000 }), async (entries, size) => {
      const members = await readAll(inPieces(archiveOf(entries), size))
      expect(members.length).toBe(entries.length)
      for (const [index, { path, type, mode, modifiedAtNs, target, content }] of entries.entries()) {
        const member = members[index]
        expect(member).toMatchObject({ path: type === 'directory' ? `${path}/` : path, type, mode, target })
        expect(member?.content.equals(content)).toBe(true)
        expect(member?.modifiedAtSecs).toBeCloseTo(Number(modifiedAtNs) / 1e9, 3)
      }
    }),
    { numRuns: 200 },
  )
})

test('GNU tar reads a written archive', () => {
  const entries: Written[] = [
    { path: 'ä'.repeat(80), content: 'long' },
    { path: 'plain', content: 'short' },
  ].map(({ path, content }) => ({
    path,
    content: Buffer.from(content),
    type: 'file',
    mode: 0o640,
    modifiedAtNs: 1_234_567_890_123_456_789n,
    sizeBytes: content.length,
    target: '',
  }))
  const listed = execFileSync('tar', ['-tvf', '-', '--full-time', '--utc', '--quoting-style=literal'], {
    input: archiveOf(entries),
    env: { ...process.env, LC_ALL: 'C.UTF-8' },
  }).toString()
  for (const { path } of entries) expect(listed).toContain(path)
  expect(listed.match(/-rw-r----- .* 2009-02-13 23:31:30.123456789/g)).toHaveLength(2)
})

describe('an archive of another program', () => {
  const refused = (bytes: Buffer) =>
    expect(readAll(inPieces(bytes, 700))).rejects.toMatchObject({ name: 'HoltError', code: 'invalid_archive' })
  const good = archiveOf([
    {
      path: `${'x'.repeat(150)}/y`,
      type: 'file',
      mode: 0o644,
      modifiedAtNs: 5n,
      sizeBytes: 3,
      target: '',
      content: Buffer.from('abc'),
    },
  ])

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
            await readAll(inPieces(bytes, 1000))
          } catch (error) {
            expect(error).toMatchObject({ name: 'HoltError', code: 'invalid_archive' })
          }
        },
      ),
      { numRuns: 500 },
    )
  })

  test('has no size above that of any file', async () => {
    const bytes = Buffer.from(good)
    bytes.write('77777777777\0', 1024 + 124)
    mend(bytes, 1024)
    await refused(bytes)
  })
})

/** Writes the right checksum of a header. */
function mend(bytes: Buffer, start: number): void {
  let sum = 8 * 0x20
  for (let at = 0; at < 512; at++) if (at < 148 || at >= 156) sum += bytes[start + at] ?? 0
  bytes.write(`${sum.toString(8).padStart(6, '0')}\0 `, start + 148)
}
