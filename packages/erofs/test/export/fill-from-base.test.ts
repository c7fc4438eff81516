import { type ExportEntry, fillFromBase, ImageReader, type KeptNames, readExport, writeImage } from '@holt/erofs'
import { describe, expect, test } from 'vitest'
import { consume } from '../../../tar/test/support/consume.ts'
import { device, directory, file, hardlink, pattern, streamOf, symlink } from '../support/entries.ts'
import { scratch } from '../support/scratch.ts'

const PLAIN = { mode: 0o640, uid: 1, gid: 2, mtimeSecs: 3, mtimeNanos: 4 } as const

const unchanged = (path: string, size: number): ExportEntry => ({ ...PLAIN, type: 'unchanged', path, size })
const kept = (directory: string, ...names: readonly string[]): ExportEntry => ({
  type: 'kept',
  lists: [{ directory: Buffer.from(directory), names: names.map((name) => Buffer.from(name, 'latin1')) }],
})
const mount = (path: string, kind: 'point' | 'parent', isDirectory = true): ExportEntry => ({
  ...PLAIN,
  type: 'mount',
  path,
  kind,
  isDirectory,
})

/** An image with what exports are about. */
async function baseIn(dir: string): Promise<ImageReader> {
  const entries = [
    file('big', pattern(3_000_001)),
    file('f', 'content'),
    symlink('l', 'f'),
    directory('run', { mode: 0o700 }),
  ]
  const below = [
    directory('dev', { mode: 0o711 }),
    device('char', 'dev/null', 1, 3),
    file('dev/x', 'x'),
    hardlink('dev/y', 'dev/x'),
  ]
  await writeImage(streamOf([...entries, ...below]), `${dir}/base`)
  return ImageReader.open(`${dir}/base`)
}

async function filled(...entries: readonly ExportEntry[]) {
  await using dir = await scratch()
  await using base = await baseIn(dir.path)
  return await consume(fillFromBase(streamOf(entries), base))
}

describe('an export that is completed from the base image', () => {
  test('takes missing content from the base, and all else from the export', async () => {
    const [big, small, fresh] = await filled(unchanged('big', 3_000_001), unchanged('./f', 7), file('new', 'n'))
    expect(big).toMatchObject({ ...PLAIN, type: 'file', content: pattern(3_000_001).toString('latin1') })
    expect(small).toMatchObject({ ...PLAIN, type: 'file', content: 'content' })
    expect(fresh).toMatchObject({ content: 'n' })
  })

  test.each([
    ['is not there', unchanged('none', 7)],
    ['has another size', unchanged('f', 8)],
    ['is a symlink', unchanged('l', 1)],
    ['is a directory', unchanged('dev', 0)],
    ['is below a symlink', unchanged('l/f', 7)],
    ['is named and not there', kept('./', 'none')],
    ['is named and is a directory', kept('./', 'f', 'dev')],
    ['is named in a missing directory', kept('none/', 'f')],
    ['is named below a symlink', kept('l/', 'f')],
    ['is named in a file', kept('f/', 'f')],
    ['is named in a directory above the root', kept('./', '..')],
  ])('is refused if a file %s', async (_, entry) => {
    await expect(filled(entry)).rejects.toMatchObject({ code: 'base_mismatch' })
  })

  test('takes named entries from the base, with their attributes and hard links', async () => {
    const found = await filled(kept('./', 'l', 'f'), kept('dev/', 'y', 'x', 'null'))
    expect(found.map(({ path, type, mode }) => [path, type, mode])).toEqual([
      ['l', 'symlink', 0o777],
      ['f', 'file', 0o644],
      ['dev/y', 'file', 0o644],
      ['dev/x', 'hardlink', 0o644],
      ['dev/null', 'char', 0o644],
    ])
    expect(found[0]).toMatchObject({ linkTarget: 'f' })
    expect(found[2]).toMatchObject({ content: 'x' })
    expect(found[3]).toMatchObject({ linkTarget: 'dev/y' })
  })

  test('has the hard links of names in two lists', async () => {
    const found = await filled(kept('dev/', 'x'), kept('dev/', 'y'))
    expect(found.map(({ path, type }) => [path, type])).toEqual([
      ['dev/x', 'file'],
      ['dev/y', 'hardlink'],
    ])
  })

  test('accepts names of any bytes', async () => {
    await using dir = await scratch()
    const name = Buffer.from([0x61, 0xff, 0xfe])
    await writeImage(streamOf([{ ...file('x', 'bytes'), path: name }]), `${dir.path}/base`)
    await using base = await ImageReader.open(`${dir.path}/base`)
    const list: ExportEntry = { type: 'kept', lists: [{ directory: Buffer.from('./'), names: [name] }] }
    expect(await Array.fromAsync(fillFromBase(streamOf([list]), base))).toMatchObject([{ path: name, size: 5 }])
  })

  test('has the base content below mount points', async () => {
    const entries = [
      mount('dev', 'point'),
      mount('proc', 'point'),
      mount('run', 'parent'),
      mount('srv', 'parent'),
      mount('srv/x', 'point', false),
    ]
    const found = await filled(...entries)
    expect(found.map(({ path, type, mode }) => [path, type, mode])).toEqual([
      ['dev', 'directory', 0o711],
      ['dev/null', 'char', 0o644],
      ['dev/x', 'file', 0o644],
      ['dev/y', 'hardlink', 0o644],
      ['run', 'directory', 0o640],
    ])
  })

  test('has empty directories for mounts without a base image', async () => {
    const found = await consume(fillFromBase(streamOf([mount('proc', 'point'), mount('x', 'point', false)]), null))
    expect(found.map(({ path, type }) => [path, type])).toEqual([['proc', 'directory']])
    for (const entry of [unchanged('f', 7), kept('./', 'f')])
      await expect(consume(fillFromBase(streamOf([entry]), null))).rejects.toMatchObject({ code: 'base_mismatch' })
  })
})

describe('the markers of an export', () => {
  test.each([
    ['an invalid size', { unchanged: '1', size: 'x' }],
    ['no size', { unchanged: '1' }],
    ['a mount of no kind', { mount: 'other' }],
    ['one that nobody knows', { other: '1' }],
  ])('are refused with %s', async (_, marks) => {
    const reading = Array.fromAsync(readExport(streamOf([markedTar(marks)])))
    await expect(reading).rejects.toMatchObject({ code: expect.stringMatching(/^tar_malformed|number_out_of_range$/) })
  })

  test('are accepted if they are consistent', async () => {
    const entries = await Array.fromAsync(readExport(streamOf([markedTar({ unchanged: '1', size: '123' })])))
    expect(entries).toMatchObject([{ type: 'unchanged', size: 123 }])
  })

  test('list names of the content', async () => {
    const list = './\0a\0b\0usr/bin/\0c\0'
    const first = markedTar({ unchanged: 'names' }, list).subarray(0, -1024)
    const second = markedTar({ unchanged: 'names' })
    const entries = await readLists(first, second)
    const bytes = (text: string) => Buffer.from(text)
    const lists = [
      { directory: bytes('./'), names: [bytes('a'), bytes('b')] },
      { directory: bytes('usr/bin/'), names: [bytes('c')] },
    ]
    expect(entries).toEqual([lists, []])
  })

  test.each([
    ['ends within a name', './\0a', 'tar_malformed'],
    ['begins without a directory', 'a\0', 'tar_malformed'],
    ['has an empty name', './\0\0', 'tar_malformed'],
    ['has a path for a name', './\0a/b\0', 'tar_malformed'],
    ['has a directory without names', './\0a\0b/\0c/\0d\0', 'tar_malformed'],
    ['ends with a directory', './\0a\0b/\0', 'tar_malformed'],
    ['is longer than lists are', `./\0${'a\0'.repeat(1 << 20)}`, 'tar_malformed'],
  ])('are refused if a list of names %s', async (_, list, code) => {
    const reading = readLists(markedTar({ unchanged: 'names' }, list))
    await expect(reading).rejects.toMatchObject({ code })
  })

  test('are refused if the archive ends within a list of names', async () => {
    const whole = markedTar({ unchanged: 'names' }, './\0a\0'.repeat(1000))
    const reading = readLists(whole.subarray(0, 2048))
    await expect(reading).rejects.toMatchObject({ code: 'tar_truncated' })
  })
})

/** Returns the lists of names of an export. */
async function readLists(...parts: readonly Buffer[]) {
  const found: (readonly KeptNames[])[] = []
  for await (const entry of readExport(streamOf(parts))) if (entry.type === 'kept') found.push([...entry.lists])
  return found
}

/** Returns a tar with one file `f` that has these marks. */
function markedTar(marks: Readonly<Record<string, string>>, content = ''): Buffer {
  const records = Object.entries(marks).map(([key, value]) => {
    const rest = ` HOLT.${key}=${value}\n`
    const length = rest.length + String(rest.length + 2).length
    return `${length}${rest}`
  })
  const text = Buffer.from(records.join(''))
  const padding = Buffer.alloc((512 - (text.length % 512)) % 512)
  const body = Buffer.alloc(Math.ceil(content.length / 512) * 512)
  body.write(content, 'latin1')
  const headers = [header('x', text.length), text, padding, header('0', content.length)]
  return Buffer.concat([...headers, body, Buffer.alloc(1024)])
}

function header(type: string, size: number): Buffer {
  const block = Buffer.alloc(512)
  block.write('f')
  block.write('0000644\0', 100)
  block.write('0000000\0', 108)
  block.write('0000000\0', 116)
  block.write(`${size.toString(8).padStart(11, '0')}\0`, 124)
  block.write('00000000000\0', 136)
  block.write('        ', 148)
  block.write(type, 156)
  block.write('ustar\x0000', 257)
  const sum = block.reduce((total, byte) => total + byte, 0)
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return block
}
