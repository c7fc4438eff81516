import { execFile } from 'node:child_process'
import { mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { DiskPool } from '../../src/disks/disk-pool.ts'
import { temporaryDirectory } from '../support/test-machine.ts'

const run = promisify(execFile)
const log = { debug() {}, info() {}, warn() {}, error() {} }
const signal = new AbortController().signal

async function check(path: string): Promise<void> {
  await run('e2fsck', ['-f', '-n', path])
}

test('gives a sparse ext4 of the exact size, and a preformatted one', async () => {
  await using dir = await temporaryDirectory()
  const pool = join(dir.path, 'disks')
  await mkdir(pool)
  const disks = new DiskPool(pool, 2, log)
  await disks.open()
  await disks.take(64, join(dir.path, 'first.img'), signal)
  disks.refill()
  const spares = async () => (await readdir(pool)).filter((name) => !name.startsWith('.'))
  await expect.poll(spares, { timeout: 10_000 }).toHaveLength(2)
  await disks.close()
  const later = new DiskPool(pool, 2, log)
  await later.open()
  await later.take(64, join(dir.path, 'second.img'), signal)
  expect(await readdir(pool)).toHaveLength(1)
  for (const name of ['first.img', 'second.img']) {
    const { size, blocks } = await stat(join(dir.path, name))
    expect(size).toBe(64 * 2 ** 20)
    expect(blocks * 512).toBeLessThan(size / 4)
    await check(join(dir.path, name))
  }
})

test('formats a disk when its spare is missing', async () => {
  await using dir = await temporaryDirectory()
  const pool = join(dir.path, 'disks')
  await mkdir(pool)
  const disks = new DiskPool(pool, 0, log)
  await disks.take(32, join(dir.path, 'one.img'), signal)
  disks.refill()
  await disks.close()
  expect(await readdir(pool)).toEqual([])
  await check(join(dir.path, 'one.img'))
})

test('leaves no file of a disk that could not be formatted', async () => {
  await using dir = await temporaryDirectory()
  const disks = new DiskPool(dir.path, 0, log)
  await expect(disks.take(32, join(dir.path, 'x.img'), AbortSignal.abort(new Error('stop')))).rejects.toThrow('stop')
  expect(await readdir(dir.path)).toEqual([])
})

test('removes spares of another format and incomplete ones, and keeps other files', async () => {
  await using dir = await temporaryDirectory()
  for (const name of [`f1-32-${'0'.repeat(16)}.img`, `.tmp-f2-32-${'1'.repeat(16)}.img`, 'notes.txt']) {
    await writeFile(join(dir.path, name), 'not a disk')
  }
  const disks = new DiskPool(dir.path, 0, log)
  await disks.open()
  expect(await readdir(dir.path)).toEqual(['notes.txt'])
})
