import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm, stat, symlink, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { type Entry, writeTar } from '@holt/tar'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { HostImages } from '../../src/images/host-images.ts'
import { ImageMounts } from '../../src/images/image-mounts.ts'
import { type Layout, layoutOf } from '../../src/installation/layout.ts'
import { listStored } from '../../src/list-stored.ts'
import { TOOL_ENV } from '../../src/tools/run-tool.ts'
import { recordDurability } from '../support/record-durability.ts'
import { missing } from '../support/test-machine.ts'

const reason = await missing('root')

const content = Buffer.alloc(2 ** 20, 'x')
const common = { mode: 0o644, uid: 0, gid: 0, mtimeSecs: 0, mtimeNanos: 0 }
const signal = new AbortController().signal
const warnings: string[] = []
let onWarning = () => {}
const log = {
  debug() {},
  info() {},
  warn(_facts: unknown, message: string) {
    warnings.push(message)
    onWarning()
  },
  error() {},
}

async function* files(count: number): AsyncGenerator<Entry> {
  for (let at = 0; at < count; at++) {
    const body = (async function* () {
      yield content
    })()
    yield { ...common, type: 'file', path: 'same', size: content.length, body }
  }
}

let dir = ''
let images: HostImages
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'holt-images-'))
  await mkdir(join(dir, 'images'))
  const layout = {
    images: join(dir, 'images'),
    image: (digest: string) => join(dir, 'images', `${digest.slice(7)}.erofs`),
    imageBase: (digest: string) => join(dir, 'images', `${digest.slice(7)}.base`),
  }
  images = new HostImages(layout as unknown as Layout, { isUsed: () => false, log })
})
const { PATH } = TOOL_ENV
afterEach(async () => {
  vi.restoreAllMocks()
  TOOL_ENV.PATH = PATH
  warnings.length = 0
  onWarning = () => {}
  await rm(dir, { recursive: true, force: true })
})

test('an image above the size limit is refused during its import, and leaves nothing', async () => {
  const maxBytes = 3 * 2 ** 20
  await expect(images.import(writeTar(files(1)), signal, { maxBytes })).resolves.toMatchObject({
    digest: expect.any(String),
  })
  // The same name again and again: the tree has one file, and the disk would have all of them.
  await expect(images.import(writeTar(files(50)), signal, { maxBytes })).rejects.toMatchObject({ kind: 'invalid' })
  expect(await readdir(join(dir, 'images'))).toHaveLength(1)
})

test('names an image when it is durable, and answers when the name is', async () => {
  using record = await recordDurability(dir)
  const { digest } = await images.import(writeTar(files(1)), signal)
  record.expectStages([
    ['sync images/.tmp'],
    ['sync images/.tmp'],
    [`rename images/.tmp images/${digest.slice(7)}.erofs`],
    ['sync images'],
  ])
})

test('an importer gets the digest before the image exists, and can refuse it', async () => {
  let told: string | undefined
  const beforePublish = async (digest: `sha256:${string}`) => {
    told = digest
    expect(await images.has(digest)).toBe(false)
  }
  const { digest } = await images.import(writeTar(files(1)), signal, { beforePublish })
  expect([told, await images.has(digest)]).toEqual([digest, true])
  const refuse = () => Promise.reject(new Error('not this one'))
  await expect(images.import(writeTar(files(2)), signal, { beforePublish: refuse })).rejects.toThrow('not this one')
  expect(await readdir(join(dir, 'images'))).toHaveLength(1)
})

async function importDelta(): Promise<{ readonly base: `sha256:${string}`; readonly delta: `sha256:${string}` }> {
  const base = (await images.import(writeTar(files(2)), signal)).digest
  const delta = (await images.import(writeTar(files(1)), signal, { base })).digest
  return { base, delta }
}

const namesOf = async (end: string) => (await readdir(join(dir, 'images'))).filter((name) => name.endsWith(end))

test.skipIf(reason !== null)(
  `a delta without its base is damaged: listed, reported once, and unusable (${reason ?? 'ready'})`,
  async () => {
    const { base, delta } = await importDelta()
    const mounts = new ImageMounts(layoutOf(dir, dir), () => false, log)
    expect([await images.has(base), await images.has(delta)]).toEqual([true, true])
    expect(new Set((await listStored(dir)).images)).toEqual(new Set([base, delta]))
    await rm(join(dir, 'images', `${delta.slice(7)}.base`))
    expect([await images.has(base), await images.has(delta)]).toEqual([true, false])
    expect((await listStored(dir)).images).toEqual([base])
    await expect(mounts.file(delta, signal)).rejects.toMatchObject({ kind: 'damaged' })
    expect(await mounts.file(base, signal)).toBe(join(dir, 'images', `${base.slice(7)}.erofs`))
    for (let time = 0; time < 3; time += 1) expect(await images.list()).toHaveLength(2)
    expect(warnings).toEqual(['an image is damaged'])
    await images.remove(delta)
    expect(await images.list()).toMatchObject([{ digest: base }])
  },
)

test('every read of a damaged image fails as damaged, and none blames the files to import', async () => {
  const { digest } = await images.import(writeTar(files(1)), signal)
  const file = join(dir, 'images', `${digest.slice(7)}.erofs`)
  const damaged = { kind: 'damaged', message: expect.stringContaining(digest) }
  await using tree = await images.open(digest)
  const node = await (await tree.children(tree.root)).get('same')?.()
  if (node === undefined) throw new Error('the file is not in the image')
  const { size } = await stat(file)
  await truncate(file, size - content.length)
  await expect(buffer(tree.content(node))).rejects.toMatchObject(damaged)
  await truncate(file, 0)
  await expect(images.open(digest)).rejects.toMatchObject(damaged)
  await expect(images.import(writeTar(files(1)), signal, { base: digest })).rejects.toMatchObject(damaged)
  await expect(tree.children(node)).rejects.toMatchObject(damaged)
})

test.skipIf(reason !== null)(
  `a damaged delta hides no other image, and an image removed meanwhile is not listed (${reason ?? 'ready'})`,
  async () => {
    const { base, delta } = await importDelta()
    images = new HostImages(layoutOf(dir, dir), { isUsed: () => false, log })
    const file = join(dir, 'images', `${delta.slice(7)}.erofs`)
    await truncate(file, 4096)
    const listed = await images.list()
    expect(listed.map(({ digest }) => digest).sort()).toEqual([base, delta].sort())
    images = new HostImages(layoutOf(dir, dir), { isUsed: () => false, log })
    onWarning = () => rmSync(file)
    expect(await images.list()).toMatchObject([{ digest: base }])
  },
)

test.skipIf(reason !== null)(
  `without losetup a start works with images as files only, until a later try (${reason ?? 'ready'})`,
  async () => {
    const now = vi.spyOn(performance, 'now').mockReturnValue(0)
    TOOL_ENV.PATH = dir
    await images.repair()
    const { base } = await importDelta()
    expect(warnings).toEqual([
      'cannot search for loop devices of an earlier process',
      'new images share no data with their base: the kernel cannot mount them together',
    ])
    TOOL_ENV.PATH = PATH
    await images.import(writeTar(files(1)), signal, { base })
    expect(await namesOf('.base')).toEqual([])
    now.mockReturnValue(60_000)
    await images.import(writeTar(files(1)), signal, { base })
    expect(await namesOf('.base')).toHaveLength(1)
    expect(warnings).toHaveLength(2)
  },
)

test.skipIf(reason !== null)(
  `a start detaches loop devices of its files, under any path (${reason ?? 'ready'})`,
  async () => {
    const place = join(dir, 'with blanks')
    await mkdir(join(place, 'images'), { recursive: true })
    await symlink(place, join(dir, 'link'))
    const layout = layoutOf(join(dir, 'link'), dir)
    images = new HostImages(layout, { isUsed: () => false, log })
    const { digest } = await images.import(writeTar(files(1)), signal)
    const file = join(place, 'images', `${digest.slice(7)}.erofs`)
    const attached = () =>
      execFileSync('losetup', ['--noheadings', '--output', 'NAME', '--associated', file], { encoding: 'utf8' })
    execFileSync('losetup', ['--find', '--read-only', file])
    try {
      await images.repair()
      expect(attached()).toBe('')
    } finally {
      for (const device of attached().split('\n').filter(Boolean)) execFileSync('losetup', ['--detach', device])
    }
  },
)
