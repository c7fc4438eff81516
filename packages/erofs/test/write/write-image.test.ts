import { createHash } from 'node:crypto'
import { existsSync, lstatSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { type Entry, writeImage } from '@holt/erofs'
import { requires } from '@holt/testkit'
import { describe, expect, test } from 'vitest'
import { type Description, describeTree } from '../support/describe-tree.ts'
import { device, directory, fifo, file, hardlink, pattern, streamOf, symlink } from '../support/entries.ts'
import { fsck } from '../support/fsck.ts'
import { mounted } from '../support/mounted.ts'
import { run } from '../support/run.ts'
import { scratch } from '../support/scratch.ts'

const kernel = requires('mount', 'fsck.erofs', 'xattr')

/** Writes the entries, lets fsck.erofs check the image, and answers what the kernel shows of it. */
async function seenByKernel(entries: Iterable<Entry>): Promise<Map<string, Description>> {
  await using dir = await scratch()
  const image = `${dir.path}/image`
  await writeImage(streamOf(entries), image)
  await fsck(image)
  await using mount = await mounted(image)
  return await describeTree(mount.path, { xattrs: true })
}

describe.skipIf(kernel.skip)(`an image that the kernel mounts${kernel.note}`, () => {
  test('an empty image has a root directory', async () => {
    const seen = await seenByKernel([])
    expect([...seen.keys()]).toEqual(['.'])
    expect(seen.get('.')).toMatchObject({ type: 'directory', mode: 0o755, uid: 0, gid: 0, nlink: 2, mtimeNs: '0' })
  })

  test.each([0, 1, 4095, 4096, 4097, 8192, 1 << 20, (1 << 20) + 1, 3_000_001])('a file of %i bytes', async (size) => {
    const content = pattern(size)
    const seen = await seenByKernel([file('before', 'x'), file('f', content), file('zz', 'y')])
    const sha256 = createHash('sha256').update(content).digest('hex')
    expect(seen.get('f')).toMatchObject({ type: 'file', size, sha256 })
    expect(seen.get('zz')).toMatchObject({ size: 1, sha256: createHash('sha256').update('y').digest('hex') })
  })

  test('every type with its attributes', async () => {
    const odd = { uid: 70_000, gid: 0xffff_fffe, mtimeSecs: -2, mtimeNanos: 999_999_999 }
    const seen = await seenByKernel([
      directory('./', { mode: 0o1777, uid: 1, gid: 2, mtimeSecs: 7, mtimeNanos: 8 }),
      file('f', 'content', { ...odd, mode: 0o106755 }),
      directory('d', { ...odd, mode: 0o2700 }),
      symlink('l', 'd/../f', odd),
      fifo('p', { mode: 0o600 }),
      device('char', 'c', 300, 70_000),
      device('block', 'b', 8, 1),
    ])
    const oddSeen = { uid: 70_000, gid: 0xffff_fffe, mtimeNs: '-1000000001' }
    expect(seen.get('.')).toMatchObject({ mode: 0o1777, uid: 1, gid: 2, mtimeNs: '7000000008', nlink: 3 })
    expect(seen.get('f')).toMatchObject({ type: 'file', mode: 0o6755, size: 7, nlink: 1, ...oddSeen })
    expect(seen.get('d')).toMatchObject({ type: 'directory', mode: 0o2700, nlink: 2, ...oddSeen })
    expect(seen.get('l')).toMatchObject({ type: 'symlink', target: 'd/../f', ...oddSeen })
    expect(seen.get('p')).toMatchObject({ type: 'fifo', mode: 0o600 })
    // The result of makedev(300, 70000) of glibc.
    expect(seen.get('c')).toMatchObject({ type: 'char', rdev: 0x11112c70 })
    expect(seen.get('b')).toMatchObject({ type: 'block', rdev: (8 << 8) | 1 })
  })

  test('symlink targets of every length that changes their storage', async () => {
    const lengths = [1, 59, 60, 1000, 3967, 4031, 4032, 4033, 4094, 4095]
    const seen = await seenByKernel(lengths.map((length) => symlink(`l${length}`, 't'.repeat(length))))
    for (const length of lengths) expect(seen.get(`l${length}`)?.target).toBe('t'.repeat(length))
  })

  test('hard links share an inode, also if the first name is replaced', async () => {
    const seen = await seenByKernel([
      file('a', 'one'),
      hardlink('b', 'a'),
      hardlink('./d/c', '/b'),
      file('a', 'two'),
      symlink('s', 'gone'),
      hardlink('s2', 's'),
      hardlink('b', 'b'),
    ])
    expect(seen.get('a')).toMatchObject({ nlink: 1, sameAs: 'a' })
    expect(seen.get('b')).toMatchObject({ nlink: 2, sameAs: 'b' })
    expect(seen.get('d/c')).toMatchObject({ nlink: 2, sameAs: 'b' })
    expect(seen.get('s2')).toMatchObject({ type: 'symlink', target: 'gone', nlink: 2, sameAs: 's' })
  })

  test('the last entry of a path wins, and a directory over a directory keeps its entries', async () => {
    const seen = await seenByKernel([
      file('kept/child', '1'),
      directory('kept', { mode: 0o700 }),
      file('dir-to-file/x/y', '1'),
      hardlink('other-name', 'dir-to-file/x/y'),
      file('dir-to-file', '22'),
      file('file-to-dir', '1'),
      directory('file-to-dir'),
      file('file-to-dir/new', '1'),
      symlink('link-to-dir', '/etc'),
      directory('link-to-dir'),
      file('link-to-dir/passwd', 'mine'),
    ])
    expect([...seen.keys()].sort()).toEqual(
      ['.', 'dir-to-file', 'file-to-dir', 'file-to-dir/new', 'kept', 'kept/child'].concat([
        'link-to-dir',
        'link-to-dir/passwd',
        'other-name',
      ]),
    )
    expect(seen.get('kept')).toMatchObject({ mode: 0o700, nlink: 2 })
    expect(seen.get('other-name')).toMatchObject({ nlink: 1 })
    expect(seen.get('.')?.nlink).toBe(2 + 3)
  })

  test('extended attributes of every name space, on every type, across blocks', async () => {
    const capability = Buffer.from('0100000200200000000000000000000000000000', 'hex')
    const xattrs = new Map<string, Uint8Array>([
      ['user.empty', Buffer.alloc(0)],
      ['user.binary', Buffer.from([0, 255, 10, 61, 34])],
      [`user.${'n'.repeat(250)}`, pattern(9000)],
      ['trusted.t', Buffer.from('t')],
      ['security.capability', capability],
      ['com.example.elsewhere', Buffer.from('left out')],
    ])
    const trusted = new Map([['trusted.on-link', pattern(5000)]])
    const seen = await seenByKernel([
      file('f', pattern(5000), { xattrs }),
      directory('d', { xattrs }),
      file('d/child', '1'),
      symlink('l', 'target', { xattrs: trusted }),
      file('plain', '2'),
    ])
    const expected = Object.fromEntries([...xattrs].map(([name, value]) => [name, Buffer.from(value).toString('hex')]))
    delete expected['com.example.elsewhere']
    expect(seen.get('f')?.xattrs).toEqual(expected)
    expect(seen.get('d')?.xattrs).toEqual(expected)
    expect(seen.get('l')).toMatchObject({
      target: 'target',
      xattrs: { 'trusted.on-link': pattern(5000).toString('hex') },
    })
    expect(seen.get('d/child')?.sha256).toBeDefined()
    expect(seen.get('plain')?.xattrs).toBeUndefined()
  })

  test('a directory of 100,000 entries, looked up by name', async () => {
    await using dir = await scratch()
    const image = `${dir.path}/image`
    const names = Array.from({ length: 100_000 }, (_, index) => `${(index * 7919) % 100_003}-${'x'.repeat(index % 40)}`)
    await writeImage(streamOf(names.map((name) => file(`big/${name}`))), image)
    await fsck(image)
    await using mount = await mounted(image)
    expect(readdirSync(`${mount.path}/big`).sort()).toEqual([...names].sort())
    const sample = names.filter((_, index) => index % 50 === 0)
    for (const name of sample) expect(lstatSync(`${mount.path}/big/${name}`).isFile()).toBe(true)
  }, 120_000)

  test('inodes that fill the last block exactly', async () => {
    await using dir = await scratch()
    for (let count = 50; count < 120; count += 1) {
      const entries = Array.from({ length: count }, (_, index) => fifo(`d/${'n'.repeat(60)}${index}`))
      const image = `${dir.path}/${count}`
      await writeImage(streamOf(entries), image)
      await fsck(image)
    }
  })

  test('names that sort before the dot, that are not UTF-8, and of 255 bytes', async () => {
    const names = ['!', ' ', '-', '...', '.a', '\x01', '\xff\xfe', 'z'.repeat(255), '\n', '\\', '"']
    const seen = await seenByKernel(names.map((name) => file(Buffer.from(name, 'latin1'), name)))
    expect([...seen.keys()].sort()).toEqual(['.', ...names].sort())
  })

  test('an image whose superblock was damaged is refused', async () => {
    await using dir = await scratch()
    const image = `${dir.path}/image`
    await writeImage(streamOf([file('f', 'x')]), image)
    // The last byte of block 0: nothing but the checksum covers it.
    writeFileSync(image, readFileSync(image).fill(1, 4095, 4096))
    await expect(fsck(image)).rejects.toThrow('checksum')
    await expect(mounted(image)).rejects.toThrow('mount')
  })

  test('a path of the maximum depth', async () => {
    await using dir = await scratch()
    const image = `${dir.path}/image`
    await writeImage(streamOf([file(`${'d/'.repeat(2047)}f`, 'deep')]), image)
    // Not for fsck.erofs 1.5, which recurses and overflows its own stack on this one.
    await using mount = await mounted(image)
    expect(await run('find', [mount.path, '-name', 'f', '-type', 'f', '-printf', '%d'])).toBe('2048')
  })
})

describe('the file', () => {
  test('has the digest and the size of its bytes', async () => {
    await using dir = await scratch()
    const image = `${dir.path}/image`
    const summary = await writeImage(streamOf([file('a', pattern(3_000_000)), directory('d')]), image)
    const bytes = readFileSync(image)
    expect(summary.digest).toBe(`sha256:${createHash('sha256').update(bytes).digest('hex')}`)
    expect(summary).toMatchObject({ sizeBytes: bytes.length, inodes: 3 })
    expect(bytes.length % 4096).toBe(0)
  })

  test('is the same for the same entries, and differs for another uuid', async () => {
    await using dir = await scratch()
    const write = (name: string, uuid?: Uint8Array): ReturnType<typeof writeImage> => {
      const entries = [file('b', '1'), file('a/c', '2', { xattrs: new Map([['user.x', Buffer.from('1')]]) })]
      return writeImage(streamOf(entries), `${dir.path}/${name}`, uuid === undefined ? {} : { uuid })
    }
    const [first, second, third] = [await write('1'), await write('2'), await write('3', Buffer.alloc(16, 7))]
    expect(second).toEqual(first)
    expect(third.digest).not.toBe(first.digest)
  })

  test('does not depend on the order of attributes', async () => {
    await using dir = await scratch()
    const write = (name: string, order: readonly string[]): ReturnType<typeof writeImage> => {
      const xattrs = new Map(order.map((key) => [key, Buffer.from(key)]))
      return writeImage(streamOf([file('a', '1', { xattrs })]), `${dir.path}/${name}`)
    }
    const [first, second] = [await write('1', ['user.a', 'user.b']), await write('2', ['user.b', 'user.a'])]
    expect(second).toEqual(first)
  })

  test('leaves long runs of zeros as holes', async () => {
    await using dir = await scratch()
    const image = `${dir.path}/image`
    const content = Buffer.concat([pattern(5000), Buffer.alloc(32 << 20), pattern(5000)])
    await writeImage(streamOf([file('sparse', content)]), image)
    expect(statSync(image).size).toBeGreaterThan(32 << 20)
    expect(statSync(image).blocks * 512).toBeLessThan(1 << 20)
  })

  test('never replaces another file', async () => {
    await using dir = await scratch()
    const image = `${dir.path}/image`
    writeFileSync(image, 'precious')
    await expect(writeImage(streamOf([]), image)).rejects.toMatchObject({ code: 'EEXIST' })
    expect(readFileSync(image, 'utf8')).toBe('precious')
  })

  test('stores no extended attributes if they are dropped', async () => {
    await using dir = await scratch()
    const xattrs = new Map([['user.secret', Buffer.from('not-in-there')]])
    const image = `${dir.path}/image`
    await writeImage(streamOf([file('a', '1', { xattrs })]), image, { xattrs: 'drop' })
    expect(readFileSync(image).includes('not-in-there')).toBe(false)
  })

  test('is removed after an abort, even if the source hangs', async () => {
    await using dir = await scratch()
    const image = `${dir.path}/image`
    const controller = new AbortController()
    async function* stuck(): AsyncGenerator<Entry> {
      yield file('a', '1')
      controller.abort(new Error('enough'))
      await new Promise(() => {})
    }
    await expect(writeImage(stuck(), image, { signal: controller.signal })).rejects.toThrow('enough')
    expect(existsSync(image)).toBe(false)
  })

  test('is removed after an abort within content', async () => {
    await using dir = await scratch()
    const image = `${dir.path}/image`
    const controller = new AbortController()
    async function* endless(): AsyncGenerator<Uint8Array> {
      yield pattern(10)
      controller.abort(new Error('enough'))
      await new Promise(() => {})
    }
    const entry = { ...file('a'), size: 1000, body: endless() } as Entry
    await expect(writeImage(streamOf([entry]), image, { signal: controller.signal })).rejects.toThrow('enough')
    expect(existsSync(image)).toBe(false)
  })
})

describe('refused input', () => {
  const attributes = { ...file('f'), type: 'file', size: 0 } as const
  const lies = (size: number, content: string): Entry => ({ ...file('liar', content), size }) as Entry
  const cases: [string, Entry[], string, string][] = [
    ['a path with ..', [file('a/../b')], 'path_invalid', 'a/../b'],
    ['a path that ends in ..', [file('..')], 'path_invalid', '..'],
    ['a path with NUL', [file('a\0b')], 'path_invalid', 'a\0b'],
    ['an empty path', [file('')], 'path_invalid', ''],
    ['a path of 4,097 bytes', [file('ab/'.repeat(1366))], 'path_too_long', 'ab/'.repeat(1366)],
    ['a name of 256 bytes', [file('n'.repeat(256))], 'name_too_long', 'n'.repeat(256)],
    ['nesting of 10,000', [file('d/'.repeat(10_000))], 'path_too_long', 'd/'.repeat(10_000)],
    ['a parent that is a symlink', [symlink('l', '/etc'), file('l/passwd')], 'parent_not_directory', 'l/passwd'],
    ['a parent that is a file', [file('f'), file('f/x')], 'parent_not_directory', 'f/x'],
    ['a root that is a file', [file('./')], 'root_not_directory', './'],
    ['a hard link to nothing', [hardlink('h', 'gone')], 'link_target_missing', 'h'],
    ['a hard link to a later entry', [hardlink('h', 'later'), file('later')], 'link_target_missing', 'h'],
    ['a hard link to a directory', [directory('d'), hardlink('h', 'd')], 'link_target_is_directory', 'h'],
    ['a hard link to the root', [hardlink('h', '/')], 'link_target_is_directory', 'h'],
    ['a hard link as the root', [file('f'), hardlink('.', 'f')], 'root_not_directory', '.'],
    [
      'a hard link through a symlink',
      [file('d/f'), symlink('l', 'd'), hardlink('h', 'l/f')],
      'parent_not_directory',
      'h',
    ],
    ['a hard link with ..', [file('f'), hardlink('h', '../f')], 'path_invalid', '../f'],
    ['an empty symlink target', [symlink('l', '')], 'symlink_target_invalid', 'l'],
    ['a symlink target with NUL', [symlink('l', 'a\0b')], 'symlink_target_invalid', 'l'],
    ['a symlink target of 4,096 bytes', [symlink('l', 't'.repeat(4096))], 'symlink_target_invalid', 'l'],
    ['content shorter than its size', [lies(10, 'short')], 'size_mismatch', 'liar'],
    ['content longer than its size', [lies(3, 'longer')], 'size_mismatch', 'liar'],
    ['a size without content', [{ ...attributes, path: 'x', size: 1 }], 'size_mismatch', 'x'],
    ['a negative size', [lies(-1, '')], 'number_out_of_range', 'liar'],
    ['a size that is no number', [lies(Number.NaN, '')], 'number_out_of_range', 'liar'],
    ['an owner beyond 32 bits', [file('f', '', { uid: 2 ** 32 })], 'number_out_of_range', 'f'],
    ['a negative group', [file('f', '', { gid: -1 })], 'number_out_of_range', 'f'],
    ['a second of nanoseconds', [file('f', '', { mtimeNanos: 1e9 })], 'number_out_of_range', 'f'],
    ['a device major beyond 12 bits', [device('char', 'c', 4096, 0)], 'number_out_of_range', 'c'],
    [
      'an attribute value of 64 KiB',
      [file('f', '', { xattrs: new Map([['user.x', Buffer.alloc(65_536)]]) })],
      'xattr_invalid',
      'f',
    ],
    [
      'an attribute without a name',
      [file('f', '', { xattrs: new Map([['user.', Buffer.alloc(1)]]) })],
      'xattr_invalid',
      'f',
    ],
    [
      'attributes beyond what an inode holds',
      [
        file('f', '', {
          xattrs: new Map(['a', 'b', 'c', 'd', 'e'].map((name) => [`user.${name}`, Buffer.alloc(60_000)])),
        }),
      ],
      'xattr_invalid',
      'f',
    ],
    ['too many entries', [file('1'), file('2'), file('3'), file('4')], 'too_many_entries', '4'],
    ['too many implied directories', [file('a/b/c/d')], 'too_many_entries', 'a/b/c/d'],
    ['an image that grows too large', [file('1', pattern(60_000)), file('2', pattern(60_000))], 'image_too_large', '2'],
    ['a size beyond the image', [lies(2 ** 50, '')], 'image_too_large', 'liar'],
    [
      'more metadata than allowed',
      [symlink('1', 't'.repeat(3000)), symlink('2', 't'.repeat(3000))],
      'metadata_too_large',
      '2',
    ],
  ]
  // Metadata counts only where a case is about it: attributes in these cases are larger than that
  // bound.
  const limits = (code: string): object => ({
    maxEntries: code === 'too_many_entries' ? 3 : 10,
    maxBytes: 100_000,
    ...(code === 'metadata_too_large' ? { maxMetadataBytes: 5000 } : {}),
  })

  test.each(cases)('%s', async (_, entries, code, path) => {
    await using dir = await scratch()
    const image = `${dir.path}/image`
    const failure = writeImage(streamOf(entries), image, limits(code))
    await expect(failure).rejects.toMatchObject({ name: 'ErofsInputError', code, path })
    expect(readdirSync(dir.path)).toEqual([])
  })
})
