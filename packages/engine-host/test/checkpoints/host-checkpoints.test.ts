import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, rename, rm, stat, symlink, truncate, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { HostCheckpoints } from '../../src/checkpoints/host-checkpoints.ts'
import { type CheckpointMaker, cpuFeaturesOf, findDifference, parseManifest } from '../../src/checkpoints/manifest.ts'
import { imageFlag } from '../../src/drivers/gvisor-driver.ts'
import { layoutOf } from '../../src/installation/layout.ts'
import { recordDurability } from '../support/record-durability.ts'
import { temporaryDirectory } from '../support/test-machine.ts'

const maker: CheckpointMaker = {
  runner: 'runsc 1',
  platform: 'systrap',
  arch: 'x64',
  cpuFeatures: 'a'.repeat(64),
  guest: 'b'.repeat(64),
}
const spec = {
  id: 'a'.repeat(22),
  isolation: 'gvisor',
  imageDigest: `sha256:${'0'.repeat(64)}`,
  cpu: 1,
  memoryMiB: 64,
  diskMiB: 64,
  pidsMax: 10,
  checkpointId: 'cp',
} as const

async function prepare(dir: string, here = maker, hasImage = true) {
  const layout = layoutOf(dir, '/run/x')
  await mkdir(layout.checkpoints, { recursive: true })
  await mkdir(join(layout.guests, maker.guest), { recursive: true })
  await writeFile(layout.guest(maker.guest), '')
  const open = () => new HostCheckpoints(layout, here, async () => hasImage)
  const write = async (target: string) => {
    await writeFile(join(target, 'checkpoint.img'), 'memory')
    await writeFile(join(target, 'pages.img'), 'pages')
  }
  const publish = async () => {
    const draft = await open().draft('cp', spec, maker.guest)
    await write(draft.dir)
    return draft.publish()
  }
  return { layout, open, publish, checkpoints: open() }
}

test('publishes a complete checkpoint and finds it again', async () => {
  await using dir = await temporaryDirectory()
  const { checkpoints, publish, layout, open } = await prepare(dir.path)
  const info = await publish()
  expect(info).toMatchObject({ checkpointId: 'cp', imageDigest: spec.imageDigest, diskMiB: 64, sizeBytes: 11 })
  expect(await open().list()).toEqual([info])
  expect(await open().usable('cp')).toEqual({ usable: true })
  expect(await open().directoryFor(spec, 'cp')).toEqual({
    dir: layout.checkpoint('cp'),
    sizeBytes: 11,
    guest: maker.guest,
  })
  await checkpoints.remove('cp')
  await checkpoints.remove('cp')
  expect(await readdir(layout.checkpoints)).toEqual([])
})

test('names a checkpoint when it is durable, and answers when the name is', async () => {
  await using dir = await temporaryDirectory()
  const { publish } = await prepare(dir.path)
  using record = await recordDurability(dir.path)
  await publish()
  record.expectStages([
    ['sync checkpoints/.tmp/checkpoint.img', 'sync checkpoints/.tmp/pages.img'],
    ['sync checkpoints/.tmp/manifest.json.tmp'],
    ['rename checkpoints/.tmp/manifest.json.tmp checkpoints/.tmp/manifest.json'],
    ['sync checkpoints/.tmp'],
    ['rename checkpoints/.tmp checkpoints/cp'],
    ['sync checkpoints'],
  ])
})

test('leaves nothing of a failed or unfinished checkpoint', async () => {
  await using dir = await temporaryDirectory()
  const { checkpoints, layout } = await prepare(dir.path)
  const failing = await checkpoints.draft('cp', spec, maker.guest)
  await rm(failing.dir, { recursive: true })
  await expect(failing.publish()).rejects.toThrow('ENOENT')
  await (await checkpoints.draft('cp', spec, maker.guest)).discard()
  expect(await readdir(layout.checkpoints)).toEqual([])
  await checkpoints.draft('cp', spec, maker.guest)
  await checkpoints.removeTemporaries()
  expect(await readdir(layout.checkpoints)).toEqual([])
})

test('ends a runsc that works on a draft, and no other process that names one', async () => {
  await using dir = await temporaryDirectory()
  const { checkpoints, layout } = await prepare(dir.path)
  const draft = (await checkpoints.draft('cp', spec, maker.guest)).dir
  const drafts = join(layout.checkpoints, '.tmp-')
  // A shell that waits for a line, whatever arguments it has.
  const start = (argument: string) =>
    spawn('sh', ['-c', 'read line', 'sh', argument], { stdio: ['pipe', 'ignore', 'ignore'] })
  const bystanders = [draft, `${draft}/pages.img`, `--exclude=${drafts}*`, `ls ${imageFlag(draft)}`].map(start)
  const runner = start(imageFlag(draft))
  const ended = Promise.all([runner, ...bystanders].map((child) => once(child, 'exit')))
  await checkpoints.removeTemporaries()
  expect(await readdir(layout.checkpoints)).toEqual([])
  for (const { stdin } of bystanders) stdin.end('\n')
  expect(await ended).toEqual([[null, 'SIGKILL'], ...bystanders.map(() => [0, null])])
})

test('ignores a checkpoint of another runsc, of a missing image, or of another format', async () => {
  await using dir = await temporaryDirectory()
  const { publish, layout, checkpoints } = await prepare(dir.path)
  await publish()
  const other = await prepare(dir.path, { ...maker, runner: 'runsc 2' })
  expect(await other.checkpoints.usable('cp')).toMatchObject({
    problem: 'incompatible',
    why: expect.stringContaining('runner'),
  })
  expect(await other.checkpoints.usable('cp', { skipFiles: true })).toMatchObject({ problem: 'incompatible' })
  const without = await prepare(dir.path, maker, false)
  expect(await without.checkpoints.usable('cp')).toMatchObject({
    problem: 'incompatible',
    why: expect.stringContaining('image'),
  })
  const manifest = join(layout.checkpoint('cp'), 'manifest.json')
  const text = await readFile(manifest, 'utf8')
  await writeFile(manifest, text.replace('"format": 3', '"format": 1'))
  expect(await checkpoints.usable('cp')).toMatchObject({ problem: 'absent' })
  await rm(layout.checkpoint('cp'), { recursive: true })
  expect(await checkpoints.usable('cp')).toMatchObject({ problem: 'absent' })
})

test('restores a saved runtime with its own guest, as long as that exists', async () => {
  await using dir = await temporaryDirectory()
  const { publish, layout } = await prepare(dir.path)
  await publish()
  const { checkpoints } = await prepare(dir.path, { ...maker, guest: 'c'.repeat(64) })
  expect(await checkpoints.guests()).toEqual(new Set([maker.guest]))
  expect(await checkpoints.usable('cp')).toMatchObject({
    problem: 'incompatible',
    why: expect.stringContaining('guest'),
  })
  expect(await checkpoints.directoryFor(spec, 'cp')).toMatchObject({ problem: 'incompatible' })
  expect(await checkpoints.usable('cp', { restoreOnly: true })).toEqual({ usable: true })
  expect(await checkpoints.directoryFor({ ...spec, restoreOnly: true }, 'cp')).toMatchObject({ guest: maker.guest })
  await rm(layout.guest(maker.guest))
  expect(await checkpoints.usable('cp', { restoreOnly: true })).toMatchObject({
    problem: 'incompatible',
    why: expect.stringContaining('guest'),
  })
})

type Harm = (checkpoint: string) => Promise<void>
const harms: readonly { readonly what: string; readonly harm: Harm }[] = [
  { what: 'changed', harm: (dir) => writeFile(join(dir, 'pages.img'), 'PAGES') },
  { what: 'cut short', harm: (dir) => truncate(join(dir, 'pages.img'), 1) },
  { what: 'gone', harm: (dir) => rm(join(dir, 'pages.img')) },
  {
    what: 'a link to the like of it',
    harm: async (dir) => {
      await rename(join(dir, 'pages.img'), join(dir, 'elsewhere'))
      await symlink('elsewhere', join(dir, 'pages.img'))
    },
  },
  { what: 'joined by a foreign one', harm: (dir) => writeFile(join(dir, 'pages_meta.img'), '') },
  {
    what: 'changed with its times set back',
    harm: async (dir) => {
      const path = join(dir, 'pages.img')
      const { atime, mtime } = await stat(path)
      await writeFile(path, 'PAGES')
      await utimes(path, atime, mtime)
    },
  },
]

test.each(harms)('finds a file that is $what, even if the checkpoint was used before', async ({ harm }) => {
  await using dir = await temporaryDirectory()
  const { checkpoints, publish, layout, open } = await prepare(dir.path)
  await publish()
  expect(await checkpoints.usable('cp')).toEqual({ usable: true })
  await harm(layout.checkpoint('cp'))
  for (const each of [checkpoints, open()]) {
    expect(await each.usable('cp')).toMatchObject({ usable: false, problem: 'damaged' })
    expect(await each.directoryFor(spec, 'cp')).toMatchObject({ problem: 'damaged' })
    expect(await each.usable('cp', { skipFiles: true })).toEqual({ usable: true })
  }
})

test('refuses another size, class or image, and a smaller disk for tenant data', async () => {
  await using dir = await temporaryDirectory()
  const { checkpoints, publish } = await prepare(dir.path)
  await publish()
  for (const change of [
    { cpu: 2 },
    { memoryMiB: 128 },
    { isolation: 'container' as const },
    { imageDigest: `sha256:${'1'.repeat(64)}` as const },
    { diskMiB: 32, restoreOnly: true },
  ]) {
    expect(await checkpoints.directoryFor({ ...spec, ...change }, 'cp')).toMatchObject({ problem: 'incompatible' })
  }
  for (const change of [{ diskMiB: 32 }, { diskMiB: 128, restoreOnly: true }]) {
    expect(await checkpoints.directoryFor({ ...spec, ...change }, 'cp')).toHaveProperty('dir')
  }
})

test('names the differences', () => {
  expect(findDifference(maker, maker)).toBeNull()
  for (const key of ['runner', 'platform', 'arch', 'cpuFeatures', 'guest'] as const) {
    expect(findDifference(maker, { ...maker, [key]: 'other' })).toContain(key)
  }
})

test('compares the features of a cpu in any order', () => {
  expect(cpuFeaturesOf('processor: 0\nflags\t\t: sse avx\n\nflags : x')).toBe(cpuFeaturesOf('flags : avx sse avx\n'))
  expect(cpuFeaturesOf('Features\t: fp asimd\n')).toBe('asimd fp')
})

test('parses any text as a manifest or as none', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      expect(parseManifest(text)).toBeNull()
    }),
  )
  const evil = { name: '../../etc/passwd.img', sizeBytes: 1, digest: 'a'.repeat(64) }
  const manifest = {
    format: 3,
    checkpointId: 'x',
    isolation: 'gvisor',
    imageDigest: spec.imageDigest,
    cpu: 1,
    memoryMiB: 1,
    diskMiB: 1,
    maker,
    files: [evil],
  }
  expect(parseManifest(JSON.stringify(manifest))).toBeNull()
})
