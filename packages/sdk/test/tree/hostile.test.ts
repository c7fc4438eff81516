import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { type Entry, writeTar } from '@holt/tar'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Holt, type Runtime } from '../../src/index.ts'
import { startTestService, type TestService } from '../support/test-service.ts'

let service: TestService
let runtime: Runtime
let here: string
beforeEach(async () => {
  service = await startTestService()
  runtime = await new Holt({ url: service.url, apiKey: service.key }).runtimes.create()
  await runtime.files.write('/tree/file', 'x')
  here = await mkdtemp(join(tmpdir(), 'holt-hostile-'))
  await writeFile(join(here, 'secret'), 'secret')
  await mkdir(join(here, 'folder'))
})
afterEach(async () => {
  await service.close()
  await rm(here, { recursive: true, force: true })
})

interface Sketch {
  readonly path: string
  readonly type?: 'file' | 'directory' | 'symlink' | 'hardlink'
  readonly mode?: number
  readonly target?: string
  readonly content?: string
}

async function* entriesOf(sketches: readonly Sketch[]): AsyncGenerator<Entry> {
  for (const { path, type = 'file', mode = 0o644, target = '', content = '' } of sketches) {
    const attributes = { path, mode, uid: 0, gid: 0, mtimeSecs: 0, mtimeNanos: 0 }
    if (type === 'directory') yield { ...attributes, type }
    else if (type !== 'file') yield { ...attributes, type, linkTarget: target }
    else yield { ...attributes, type, size: content.length, body: chunksOf(content) }
  }
}

async function* chunksOf(content: string): AsyncGenerator<Buffer> {
  yield Buffer.from(content)
}

const archiveOf = (...sketches: Sketch[]) => buffer(writeTar(entriesOf(sketches)))
const end = Buffer.alloc(1024)
/** The bytes of one entry, without the end of the archive. */
const entry = async (sketch: Sketch) => (await archiveOf(sketch)).subarray(0, -end.length)
const root: Sketch = { path: '.', type: 'directory', mode: 0o755 }

async function download(archive: Buffer) {
  service.archive = archive
  return runtime.files.download('/tree', join(here, 'back'))
}

/** Nothing has been made or changed but what was to be. */
async function expectUntouched(also: readonly string[] = []): Promise<void> {
  expect((await readdir(here)).sort()).toEqual([...also, 'folder', 'secret'].sort())
  expect(await readdir(join(here, 'folder'))).toEqual([])
  expect(await readFile(join(here, 'secret'), 'utf8')).toBe('secret')
}

describe('an archive of a hostile runtime is refused and leaves nothing', () => {
  const link = (path: string, target: string): Sketch => ({ path, type: 'symlink', target })
  const hard = (path: string, target: string): Sketch => ({ path, type: 'hardlink', target })
  const file = (path: string): Sketch => ({ path, content: 'evil' })
  test.each<[string, Sketch[], string]>([
    ['a name that leads out', [root, file('../secret')], 'invalid_path'],
    ['one that leads out in the middle', [root, file('a/../../secret')], 'invalid_path'],
    ['an absolute name', [root, file('/tmp/holt-evil')], 'invalid_path'],
    ['a directory that leads out', [root, { path: '../folder/x', type: 'directory' }], 'invalid_path'],
    ['a file below a symlink', [root, link('l', '..'), file('l/secret')], 'invalid_archive'],
    ['a file below a symlink that stays inside', [root, link('l', 'd'), file('l/x')], 'invalid_archive'],
    ['a file over a symlink', [root, link('l', 'f'), file('l')], 'invalid_archive'],
    ['a symlink below a symlink', [root, link('l', '.'), link('l/m', '.')], 'invalid_archive'],
    ['a hard link to outside', [root, hard('h', '../secret')], 'invalid_path'],
    ['an absolute hard link', [root, hard('h', '/etc/passwd')], 'invalid_path'],
    ['a hard link through a symlink', [root, link('l', '.'), file('f'), hard('h', 'l/f')], 'invalid_archive'],
    ['a hard link to a symlink', [root, link('l', '.'), hard('h', 'l')], 'invalid_archive'],
    ['a hard link to a directory', [root, { path: 'd', type: 'directory' }, hard('h', 'd')], 'invalid_archive'],
    ['an entry twice', [root, file('f'), file('f')], 'invalid_archive'],
    ['a directory where a file is', [root, file('f'), { path: 'f', type: 'directory' }], 'invalid_archive'],
    ['the tree twice', [root, root], 'invalid_archive'],
    ['a file that is the tree', [{ path: '.', content: 'x' }], 'invalid_path'],
    ['a file in what was never made', [root, file('d/f')], 'invalid_archive'],
    ['a name with NUL', [root, file('a\0b/../../secret')], 'invalid_path'],
    ['a part that is too long', [root, file('x'.repeat(256))], 'invalid_path'],
    ['a name that is too long', [root, file('x/'.repeat(2500))], 'invalid_path'],
  ])('%s', async (_, sketches, code) => {
    await expect(download(await archiveOf(...sketches))).rejects.toMatchObject({ code })
    await expectUntouched()
  })

  test.each<[string, (good: Buffer) => Buffer | Promise<Buffer>]>([
    ['one that is cut in its content', (good) => good.subarray(0, good.length - 2000)],
    ['one that is cut before its end', (good) => good.subarray(0, good.length - 1024)],
    ['one of nothing', () => Buffer.alloc(0)],
    ['one with a wrong checksum', (good) => Buffer.concat([Buffer.from('y'), good.subarray(1)])],
    ['one that is not an archive', () => Buffer.alloc(4096, 'no archive ')],
    ['one whose end never comes', (good) => Buffer.concat([good, Buffer.alloc(2 * 1024 * 1024)])],
    ['one of another kind', async (good) => Buffer.concat([retyped(await entry({ path: 'f' }), 'V'), good])],
  ])('%s', async (_, change) => {
    const good = await archiveOf(root, { path: 'f', content: 'x'.repeat(3000) })
    await expect(download(await change(good))).rejects.toMatchObject({ code: 'invalid_archive' })
    await expectUntouched()
  })
})

test('symlinks that lead outside and special files are skipped and reported', async () => {
  const result = await download(
    Buffer.concat([
      await entry(root),
      await entry({ path: 'd', type: 'directory', mode: 0o755 }),
      await entry({ path: 'out', type: 'symlink', target: '../secret' }),
      await entry({ path: 'd/sly', type: 'symlink', target: '../in/../../secret' }),
      await entry({ path: 'in', type: 'symlink', target: 'd' }),
      retyped(await entry({ path: 'null' }), '3'),
      end,
    ]),
  )
  expect(result).toMatchObject({ symlinks: 1, directories: 2, files: 0 })
  expect(result.skipped.map(({ path }) => path).sort()).toEqual(['d/sly', 'null', 'out'])
  expect((await readdir(join(here, 'back'))).sort()).toEqual(['d', 'in'])
  await expectUntouched(['back'])
})

test('set-id bits are not copied', async () => {
  await download(await archiveOf(root, { path: 'f', mode: 0o6755, content: 'x' }))
  const { stat } = await import('node:fs/promises')
  expect((await stat(join(here, 'back/f'))).mode & 0o7777).toBe(0o755)
})

function retyped(bytes: Buffer, type: string): Buffer {
  const other = Buffer.from(bytes)
  other.write(type, 156)
  let sum = 8 * 0x20
  for (let at = 0; at < 512; at++) if (at < 148 || at >= 156) sum += other[at] ?? 0
  other.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return other
}
