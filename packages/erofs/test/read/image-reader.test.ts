import { createHash } from 'node:crypto'
import { open, readFile, writeFile } from 'node:fs/promises'
import { type Entry, ErofsInputError, ImageReader, writeImage } from '@holt/erofs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Description } from '../support/describe-tree.ts'
import { device, directory, fifo, file, hardlink, pattern, streamOf, symlink } from '../support/entries.ts'
import { buildTree, step } from '../support/random-tree.ts'
import { scratch } from '../support/scratch.ts'

/**
 * All that a reader says of an image, in the form in which other tests say what the kernel shows.
 */
async function describeImage(image: string): Promise<Map<string, Partial<Description>>> {
  await using reader = await ImageReader.open(image)
  const root = await reader.find('/')
  if (root === null) throw new Error('no root')
  const seen = new Map<string, Partial<Description>>()
  for await (const entry of reader.entries(root)) {
    const path = Buffer.from(entry.path).toString('latin1')
    seen.set(path, entry.type === 'hardlink' ? (seen.get(latin1(entry.linkTarget)) ?? {}) : await describeEntry(entry))
  }
  return seen
}

async function describeEntry(entry: Exclude<Entry, { type: 'hardlink' }>): Promise<Partial<Description>> {
  const { type, mode, uid, gid } = entry
  const mtimeNs = String(BigInt(entry.mtimeSecs) * 1_000_000_000n + BigInt(entry.mtimeNanos))
  const values = [...(entry.xattrs ?? [])].map(([key, value]) => [key, Buffer.from(value).toString('hex')] as const)
  const xattrs = values.length === 0 ? {} : { xattrs: Object.fromEntries(values) }
  const common = { type, mode, uid, gid, mtimeNs, ...xattrs }
  if (entry.type === 'symlink') return { ...common, target: latin1(entry.linkTarget) }
  if (entry.type === 'char' || entry.type === 'block')
    return { ...common, rdev: (entry.rdev.major << 8) | (entry.rdev.minor & 0xff) }
  if (entry.type !== 'file') return common
  const hash = createHash('sha256')
  for await (const chunk of entry.body ?? []) hash.update(chunk)
  return { ...common, size: entry.size, sha256: hash.digest('hex') }
}

function latin1(text: Uint8Array | string): string {
  return Buffer.from(text).toString('latin1')
}

describe('a written image', () => {
  test('is read as it was written, for any content', async () => {
    const property = fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      await using dir = await scratch()
      const { entries, expected } = buildTree(steps)
      await writeImage(streamOf(entries), `${dir.path}/image`)
      const seen = await describeImage(`${dir.path}/image`)
      seen.delete('.')
      const wanted = [...expected].map(([path, { nlink: _, ...rest }]) => [path, rest] as const)
      expect(seen).toEqual(new Map(wanted))
    })
    await fc.assert(property, { numRuns: 40, interruptAfterTimeLimit: 60_000 })
  }, 120_000)

  test('looks up single paths, and follows no links', async () => {
    await using dir = await scratch()
    const names = Array.from({ length: 2000 }, (_, index) => file(`many/file-${index}`, String(index)))
    const entries = [
      directory('d'),
      file('d/f', 'content'),
      symlink('l', 'd'),
      hardlink('d/g', 'd/f'),
      fifo('p'),
      ...names,
    ]
    await writeImage(streamOf([...entries, device('char', 'c', 300, 70_000)]), `${dir.path}/image`)
    await using reader = await ImageReader.open(`${dir.path}/image`)
    const found = await reader.find('/d/g')
    expect(found?.inode).toMatchObject({ type: 'file', size: 7, nlink: 2 })
    if (found !== null) expect(Buffer.concat(await Array.fromAsync(reader.content(found))).toString()).toBe('content')
    expect((await reader.find('many/file-1999'))?.inode.size).toBe(4)
    expect((await reader.find('c'))?.inode.rdev).toEqual({ major: 300, minor: 70_000 })
    for (const path of ['l/f', 'd/none', 'd/f/x', 'many/file-2000']) expect(await reader.find(path)).toBeNull()
    await expect(reader.find('d/../d')).rejects.toMatchObject({ code: 'path_invalid' })
    const pipe = await reader.find('p')
    if (pipe !== null) expect(() => reader.content(pipe)).toThrow(ErofsInputError)
  })

  test('is refused or read without an error when it is damaged', { timeout: 120_000 }, async () => {
    await using dir = await scratch()
    const image = `${dir.path}/image`
    const entries = [directory('d'), file('d/f', pattern(9000)), symlink('d/l', 'x'.repeat(4000)), hardlink('h', 'd/f')]
    await writeImage(
      streamOf([...entries, directory('d/e'), file('d/e/x', 'y', { xattrs: new Map([['user.a', pattern(50)]]) })]),
      image,
    )
    const good = await readFile(image)
    const metadata = good.readUInt32LE(1024 + 40) * 4096
    const damage = fc.record({
      at: fc.nat(good.length - metadata - 1),
      value: fc.nat(255),
      more: fc.nat(64),
      moreValue: fc.nat(255),
    })
    const property = fc.asyncProperty(damage, async ({ at, value, more, moreValue }) => {
      const bad = Buffer.from(good)
      bad[metadata + at] = value
      bad[metadata + ((at + more) % (good.length - metadata))] = moreValue
      await writeFile(image, bad)
      await describeImage(image).catch((error: unknown) => expect(error).toBeInstanceOf(ErofsInputError))
    })
    await fc.assert(property, { numRuns: 1500, interruptAfterTimeLimit: 30_000 })
  })

  test.each([
    ['another magic', 1024, 7],
    ['another checksum', 1024 + 4, 1],
    ['another block size', 1024 + 12, 9],
  ])('is refused with %s', async (_, at, value) => {
    await using dir = await scratch()
    const image = `${dir.path}/image`
    await writeImage(streamOf([file('f', 'x')]), image)
    const handle = await open(image, 'r+')
    await handle.write(Buffer.from([value]), 0, 1, at)
    await handle.close()
    await expect(ImageReader.open(image)).rejects.toMatchObject({ code: 'image_malformed' })
  })

  test('is refused when it is truncated', async () => {
    await using dir = await scratch()
    const image = `${dir.path}/image`
    await writeImage(streamOf([file('f', pattern(20_000))]), image)
    for (const length of [0, 100, 4096, 8192]) {
      await writeFile(`${image}.cut`, (await readFile(image)).subarray(0, length))
      await expect(ImageReader.open(`${image}.cut`)).rejects.toMatchObject({ code: 'image_malformed' })
    }
  })
})
