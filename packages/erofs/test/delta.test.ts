import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import {
  type Entry,
  type ExportEntry,
  fillFromBase,
  ImageReader,
  type ImageSummary,
  type UnchangedEntry,
  writeImage,
} from '@holt/erofs'
import { buildOnce, requires } from '@holt/testkit'
import { describe, expect, test } from 'vitest'
import { consume, type ReadEntry } from '../../tar/test/support/consume.ts'
import { describeTree } from './support/describe-tree.ts'
import { directory, file, hardlink, pattern, streamOf, symlink } from './support/entries.ts'
import { mounted } from './support/mounted.ts'
import { runInRunsc } from './support/run-in-runsc.ts'
import { scratch } from './support/scratch.ts'
import { wholeImage } from './support/whole-image.ts'

const kernel = requires('mount')
const runsc = requires('mount', 'runsc', 'go')
const PLAIN = { mode: 0o640, uid: 1, gid: 2, mtimeSecs: 3, mtimeNanos: 4 } as const
/** Not a multiple of a chunk: the last chunk of the base is not full. */
const BIG = 3_000_001

const unchanged = (path: string, size: number): UnchangedEntry => ({ ...PLAIN, type: 'unchanged', path, size })
const baseEntries = (...more: readonly Entry[]): AsyncIterable<Entry> =>
  streamOf([
    file('first', pattern(100)),
    file('big', pattern(BIG)),
    file('last', pattern(70_000, 3)),
    file('gone', 'x'),
    // Begins inside the last chunk.
    file('end', pattern(5_000, 6)),
    ...more,
  ])
const exported = (): ExportEntry[] => [
  unchanged('first', 100),
  unchanged('big', BIG),
  unchanged('last', 70_000),
  unchanged('end', 5_000),
  hardlink('link', 'big'),
  symlink('to', 'big'),
  directory('dir', { mode: 0o700 }),
  file('dir/new', pattern(200_000, 9)),
  file('dir/empty'),
]

/** Writes a delta of what a runtime made of `image` exported. */
async function writeDelta(
  entries: readonly ExportEntry[],
  target: string,
  { image, base }: { readonly image: string; readonly base: string },
): Promise<ImageSummary> {
  await using reader = await ImageReader.open(image, image === base ? null : base)
  const sha256 = createHash('sha256')
    .update(await readFile(base))
    .digest('hex')
  return await writeImage(fillFromBase(streamOf(entries), reader), target, { base: { image: reader, sha256 } })
}

/** All entries of an image with their content. */
async function readAll(image: string, base: string | null): Promise<readonly ReadEntry[]> {
  await using reader = await ImageReader.open(image, base)
  const root = await reader.find('/')
  if (root === null) throw new Error('no root')
  return await consume(reader.entries(root))
}

/** The same export as an image in a file alone. */
async function writeAlone(entries: readonly ExportEntry[], target: string, base: string): Promise<ImageSummary> {
  await using reader = await ImageReader.open(base)
  return await writeImage(fillFromBase(streamOf(entries), reader), target)
}

describe('a delta', () => {
  test('has the files that the base lacks, and equals the image in a single file', async () => {
    await using dir = await scratch()
    const [base, delta, alone] = [`${dir.path}/base`, `${dir.path}/delta`, `${dir.path}/alone`]
    await writeImage(baseEntries(), base)
    const summary = await writeDelta(exported(), delta, { image: base, base })
    const flat = await writeAlone(exported(), alone, base)
    expect(await readAll(delta, base)).toEqual(await readAll(alone, null))
    expect(summary.fileBytes).toBe((await stat(delta)).size)
    expect(summary.fileBytes).toBeLessThan(200_000 + 300_000)
    expect(summary.sizeBytes).toBe(flat.sizeBytes)
    await using reader = await ImageReader.open(delta, base)
    expect([reader.aloneBytes, reader.baseBytes]).toEqual([flat.sizeBytes, (await stat(base)).size])
  })

  test('of a delta has the same base, and includes the files of the first delta', async () => {
    await using dir = await scratch()
    const [base, one, two] = [`${dir.path}/base`, `${dir.path}/one`, `${dir.path}/two`]
    await writeImage(baseEntries(), base)
    await writeDelta(exported(), one, { image: base, base })
    const next = [unchanged('big', BIG), unchanged('dir/new', 200_000), file('more', 'more')]
    await writeDelta(next, two, { image: one, base })
    await using reader = await ImageReader.open(two, base)
    await using below = await ImageReader.open(one, base)
    expect(reader.baseSha256).toBe(below.baseSha256)
    const read = await readAll(two, base)
    expect(read).toMatchObject([
      {},
      { path: 'big', content: pattern(BIG).toString('latin1') },
      { path: 'dir' },
      { path: 'dir/new', content: pattern(200_000, 9).toString('latin1') },
      { path: 'more', content: 'more' },
    ])
  })

  test('stores no content that the base has under the same path, for any owner', async () => {
    await using dir = await scratch()
    const [base, delta, one] = [`${dir.path}/base`, `${dir.path}/delta`, `${dir.path}/one`]
    await writeImage(baseEntries(file('zeros', Buffer.alloc(200_000))), base)
    const changed = pattern(BIG)
    changed[BIG - 1] = 0
    const entries: ExportEntry[] = [
      file('first', pattern(100)),
      file('big', pattern(BIG)),
      file('last', pattern(70_000, 4)),
      file('zeros', Buffer.alloc(200_000, 1)),
      file('new', pattern(10)),
    ]
    const { fileBytes } = await writeDelta(entries, delta, { image: base, base })
    expect(fileBytes).toBeLessThan(700_000)
    expect((await readAll(delta, base)).map(({ content }) => content)).toEqual([
      undefined,
      pattern(BIG).toString('latin1'),
      pattern(100).toString('latin1'),
      pattern(70_000, 4).toString('latin1'),
      pattern(10).toString('latin1'),
      Buffer.alloc(200_000, 1).toString('latin1'),
    ])
    // After content that was written and taken back, zeros are zeros.
    const over = [
      file('big', pattern(BIG)),
      file('last', Buffer.alloc(70_000)),
      file('first', changed.subarray(0, 100)),
    ]
    await writeDelta(over, one, { image: base, base })
    expect((await readAll(one, base))[3]).toMatchObject({ path: 'last', content: '\0'.repeat(70_000) })
    await writeDelta([file('big', changed)], `${dir.path}/two`, { image: base, base })
    expect((await readAll(`${dir.path}/two`, base))[1]).toMatchObject({ content: changed.toString('latin1') })
  })

  test('is the same file for the same export, and differs on another base', async () => {
    await using dir = await scratch()
    const digests: string[] = []
    for (const [index, extra] of ['', '', 'x'].entries()) {
      const base = `${dir.path}/base${index}`
      await writeImage(baseEntries(file('extra', extra)), base)
      digests.push((await writeDelta(exported(), `${dir.path}/delta${index}`, { image: base, base })).digest)
    }
    expect(digests[1]).toBe(digests[0])
    expect(digests[2]).not.toBe(digests[0])
  })

  test('counts shared content in its size limit', async () => {
    await using dir = await scratch()
    const base = `${dir.path}/base`
    await writeImage(baseEntries(), base)
    await using reader = await ImageReader.open(base)
    const often = Array.from({ length: 50 }, () => unchanged('big', BIG))
    const options = { base: { image: reader, sha256: 'a'.repeat(64) }, maxBytes: 10 * BIG }
    const writing = writeImage(fillFromBase(streamOf(often), reader), `${dir.path}/delta`, options)
    await expect(writing).rejects.toMatchObject({ code: 'image_too_large' })
  })

  test('is refused without its base, on a base of another size, and if it is truncated', async () => {
    await using dir = await scratch()
    const [base, delta, other] = [`${dir.path}/base`, `${dir.path}/delta`, `${dir.path}/other`]
    await writeImage(baseEntries(), base)
    await writeDelta(exported(), delta, { image: base, base })
    await writeImage(streamOf([file('f', pattern(BIG * 2))]), other)
    await expect(ImageReader.open(delta)).rejects.toMatchObject({ code: 'base_mismatch' })
    await expect(ImageReader.open(delta, other)).rejects.toMatchObject({ code: 'base_mismatch' })
    const bytes = await readFile(delta)
    await writeFile(delta, bytes.subarray(0, 3 * 65_536))
    await expect(ImageReader.open(delta, base)).rejects.toMatchObject({ code: 'image_malformed' })
  })
})

describe.skipIf(kernel.skip)(`the kernel${kernel.note}`, () => {
  test.each([
    ['is not full', false],
    ['is full', true],
  ])('makes one file of a delta and a base whose last chunk %s', async (_, full) => {
    await using dir = await scratch()
    const [base, delta, alone] = [`${dir.path}/base`, `${dir.path}/delta`, `${dir.path}/alone`]
    const pad = full ? await padding(dir.path) : 0
    const { fileBytes } = await writeImage(baseEntries(file('pad', pattern(pad))), base)
    expect(fileBytes % 65_536 === 0).toBe(full)
    await writeDelta(exported(), delta, { image: base, base })
    await writeAlone(exported(), alone, base)
    await using whole = await wholeImage(delta, base)
    await using seen = await mounted(whole.path, `${dir.path}/seen`)
    await using expected = await mounted(alone)
    expect(await describeTree(seen.path)).toEqual(await describeTree(expected.path))
  })
})

/** Bytes of a file that makes the base end with a chunk. */
async function padding(dir: string): Promise<number> {
  for (let blocks = 0; blocks < 16; blocks += 1) {
    const target = `${dir}/try${blocks}`
    const { fileBytes } = await writeImage(baseEntries(file('pad', pattern(blocks * 4096))), target)
    if (fileBytes % 65_536 === 0) return blocks * 4096
  }
  throw new Error('no padding fits')
}

describe.skipIf(runsc.skip)(`runsc${runsc.note}`, () => {
  test('boots from a delta and its base, and programs see all of it', async () => {
    await using dir = await scratch()
    const [base, delta] = [`${dir.path}/base`, `${dir.path}/delta`]
    const probe = readFileSync(await buildOnce(fileURLToPath(new URL('support/probe', import.meta.url))))
    await writeImage(baseEntries(file('bin/probe', probe, { mode: 0o755 }), directory('proc')), base)
    const entries: ExportEntry[] = [
      { ...unchanged('bin/probe', probe.length), mode: 0o755 },
      directory('proc'),
      directory('t'),
      { ...unchanged('big', BIG), mode: 0o644 },
      hardlink('t/big', 'big'),
      file('t/new', pattern(200_000, 9)),
    ]
    await writeDelta(entries, delta, { image: base, base })
    await using whole = await wholeImage(delta, base)
    const lines = (await runInRunsc(whole.path, dir.path, ['/bin/probe', '/t'])).trim().split('\n')
    const seen = lines.map((line) => JSON.parse(line) as { path: string; sha256: string })
    const sums = new Map(seen.map(({ path, sha256 }) => [Buffer.from(path, 'hex').toString(), sha256]))
    const sum = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
    expect(sums.get('/t/big')).toBe(sum(pattern(BIG)))
    expect(sums.get('/t/new')).toBe(sum(pattern(200_000, 9)))
  })
})
