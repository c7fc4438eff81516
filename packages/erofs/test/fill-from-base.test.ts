import { type ExportEntry, fillFromBase, ImageReader, readExport, writeImage } from '@holt/erofs'
import { describe, expect, test } from 'vitest'
import { consume } from './support/consume.ts'
import { device, directory, file, hardlink, pattern, streamOf, symlink } from './support/entries.ts'
import { scratch } from './support/scratch.ts'

const PLAIN = { mode: 0o640, uid: 1, gid: 2, mtimeSecs: 3, mtimeNanos: 4 } as const

const unchanged = (path: string, size: number): ExportEntry => ({ ...PLAIN, type: 'unchanged', path, size })
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

describe('an export, made whole with the image below', () => {
  test('takes content from there, and all else from the export', async () => {
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
  ])('is refused where a file %s', async (_, entry) => {
    await expect(filled(entry)).rejects.toMatchObject({ code: 'base_mismatch' })
  })

  test('has what mounts hide as the image has it, and nothing where that has nothing', async () => {
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

  test('has plain directories for mounts where there is no image below, and no content to take', async () => {
    const found = await consume(fillFromBase(streamOf([mount('proc', 'point'), mount('x', 'point', false)]), null))
    expect(found.map(({ path, type }) => [path, type])).toEqual([['proc', 'directory']])
    await expect(consume(fillFromBase(streamOf([unchanged('f', 7)]), null))).rejects.toMatchObject({
      code: 'base_mismatch',
    })
  })
})

describe('the marks of an export', () => {
  test.each([
    ['a size that is none', { unchanged: '1', size: 'x' }],
    ['no size', { unchanged: '1' }],
    ['a mount of no kind', { mount: 'other' }],
    ['one that nobody knows', { other: '1' }],
  ])('are refused with %s', async (_, marks) => {
    const reading = Array.fromAsync(readExport(streamOf([markedTar(marks)])))
    await expect(reading).rejects.toMatchObject({ code: expect.stringMatching(/^tar_malformed|number_out_of_range$/) })
  })

  test('are read where they make sense', async () => {
    const entries = await Array.fromAsync(readExport(streamOf([markedTar({ unchanged: '1', size: '123' })])))
    expect(entries).toMatchObject([{ type: 'unchanged', size: 123 }])
  })
})

/** A tar with one empty file `f` that has these marks. */
function markedTar(marks: Readonly<Record<string, string>>): Buffer {
  const records = Object.entries(marks).map(([key, value]) => {
    const rest = ` HOLT.${key}=${value}\n`
    const length = rest.length + String(rest.length + 2).length
    return `${length}${rest}`
  })
  const text = Buffer.from(records.join(''))
  const padding = Buffer.alloc((512 - (text.length % 512)) % 512)
  return Buffer.concat([header('x', text.length), text, padding, header('0', 0), Buffer.alloc(1024)])
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
