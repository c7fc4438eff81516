import { mkdir, readdir, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { HostCheckpoints } from '../../src/checkpoints/host-checkpoints.ts'
import { type CheckpointMaker, cpuFeaturesOf, findDifference, parseManifest } from '../../src/checkpoints/manifest.ts'
import { layoutOf } from '../../src/layout.ts'
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
  const open = () => new HostCheckpoints(layout, here, async () => hasImage)
  const write = async (target: string) => {
    await writeFile(join(target, 'checkpoint.img'), 'memory')
    await writeFile(join(target, 'pages.img'), 'pages')
  }
  return { layout, open, write, checkpoints: open() }
}

test('publishes a checkpoint as a whole and finds it again', async () => {
  await using dir = await temporaryDirectory()
  const { checkpoints, write, layout, open } = await prepare(dir.path)
  const info = await checkpoints.publish('cp', spec, write)
  expect(info).toMatchObject({ checkpointId: 'cp', imageDigest: spec.imageDigest, sizeBytes: 11 })
  expect(await open().list()).toEqual([info])
  expect(await open().usable('cp')).toEqual({ usable: true })
  expect(await open().directoryFor(spec, 'cp')).toEqual({ dir: layout.checkpoint('cp') })
  await checkpoints.remove('cp')
  await checkpoints.remove('cp')
  expect(await readdir(layout.checkpoints)).toEqual([])
})

test('leaves nothing of a checkpoint that failed', async () => {
  await using dir = await temporaryDirectory()
  const { checkpoints, layout } = await prepare(dir.path)
  await expect(checkpoints.publish('cp', spec, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect(await readdir(layout.checkpoints)).toEqual([])
})

test('does not use a checkpoint that another runner made, of an image that is gone, cut short, or changed', async () => {
  await using dir = await temporaryDirectory()
  const { checkpoints, write, layout, open } = await prepare(dir.path)
  await checkpoints.publish('cp', spec, write)
  const other = await prepare(dir.path, { ...maker, runner: 'runsc 2' })
  expect(await other.checkpoints.usable('cp')).toMatchObject({ usable: false, why: expect.stringContaining('runner') })
  const without = await prepare(dir.path, maker, false)
  expect(await without.checkpoints.usable('cp')).toMatchObject({ usable: false, why: expect.stringContaining('image') })
  await writeFile(join(layout.checkpoint('cp'), 'pages.img'), 'PAGES')
  expect(await open().usable('cp')).toMatchObject({ usable: false, why: expect.stringContaining('digest') })
  await truncate(join(layout.checkpoint('cp'), 'pages.img'), 1)
  expect(await open().usable('cp')).toMatchObject({ usable: false, why: expect.stringContaining('bytes long') })
  await rm(layout.checkpoint('cp'), { recursive: true })
  expect(await open().usable('cp')).toMatchObject({ usable: false })
})

test('restores no runtime of another size, class or image', async () => {
  await using dir = await temporaryDirectory()
  const { checkpoints, write } = await prepare(dir.path)
  await checkpoints.publish('cp', spec, write)
  for (const change of [
    { cpu: 2 },
    { memoryMiB: 128 },
    { isolation: 'container' as const },
    { imageDigest: `sha256:${'1'.repeat(64)}` as const },
  ]) {
    expect(await checkpoints.directoryFor({ ...spec, ...change }, 'cp')).toHaveProperty('why')
  }
})

test('names what differs', () => {
  expect(findDifference(maker, maker)).toBeNull()
  for (const key of ['runner', 'platform', 'arch', 'cpuFeatures', 'guest'] as const) {
    expect(findDifference(maker, { ...maker, [key]: 'other' })).toContain(key)
  }
})

test('takes the features of a cpu whatever their order', () => {
  expect(cpuFeaturesOf('processor: 0\nflags\t\t: sse avx\n\nflags : x')).toBe(cpuFeaturesOf('flags : avx sse avx\n'))
  expect(cpuFeaturesOf('Features\t: fp asimd\n')).toBe('asimd fp')
})

test('reads any text as a manifest or as none', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      expect(parseManifest(text)).toBeNull()
    }),
  )
  const evil = { name: '../../etc/passwd.img', sizeBytes: 1, sha256: 'a'.repeat(64) }
  const manifest = {
    format: 1,
    checkpointId: 'x',
    isolation: 'gvisor',
    imageDigest: spec.imageDigest,
    cpu: 1,
    memoryMiB: 1,
    maker,
    files: [evil],
  }
  expect(parseManifest(JSON.stringify(manifest))).toBeNull()
})
