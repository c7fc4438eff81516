import { execFile } from 'node:child_process'
import { mkdir, open, rm, statfs, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { DiskPool } from '../../src/disks/disk-pool.ts'
import { canResizeMounted, growDisk } from '../../src/disks/grow-disk.ts'
import { diskDirs, mountDisk } from '../../src/disks/mount-disk.ts'
import { hasCode } from '../../src/files/durable-files.ts'
import { layoutOf } from '../../src/installation/layout.ts'
import { unmountTree } from '../../src/mounts/mount.ts'
import { missing, temporaryDirectory } from '../support/test-machine.ts'

const reason = (await missing('root')) ?? ((await canResizeMounted()) ? null : 'needs CAP_SYS_RESOURCE')
const timeout = () => AbortSignal.timeout(60_000)
const MIB = 2 ** 20

/** A mounted disk of `sizeMiB`, as a runtime has it. */
async function withDisk(sizeMiB: number, work: (disk: { paths: Paths; upper: string }) => Promise<void>) {
  await using dir = await temporaryDirectory()
  const paths = layoutOf(dir.path, '/run/x').runtime('a'.repeat(22))
  const pool = join(dir.path, 'pool')
  await Promise.all([mkdir(pool), mkdir(paths.dir, { recursive: true })])
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
  await new DiskPool(pool, 0, log).take(sizeMiB, paths.diskImage, timeout())
  await mountDisk(paths, timeout())
  try {
    await work({ paths, upper: diskDirs(paths).upper })
  } finally {
    await unmountTree(paths.dir)
  }
  // The disk has a whole filesystem.
  await promisify(execFile)('e2fsck', ['-fn', paths.diskImage])
}

type Paths = ReturnType<ReturnType<typeof layoutOf>['runtime']>

/** Writes until the disk is full, and answers how much that was. */
async function fill(path: string): Promise<number> {
  const part = Buffer.alloc(MIB, 1)
  await using file = await open(path, 'w')
  for (let written = 0; ; ) {
    try {
      written += (await file.write(part)).bytesWritten
    } catch (error) {
      if (hasCode(error, 'ENOSPC')) return written
      throw error
    }
  }
}

async function sizeOf(point: string): Promise<number> {
  const { blocks, bsize } = await statfs(point)
  return (blocks * bsize) / MIB
}

test.skipIf(reason !== null).each([
  { from: 64, to: 200 },
  { from: 256, to: 4096 },
  { from: 4096, to: 16_384 },
])(`grows a disk of $from MiB to $to MiB while it is written to (${reason ?? 'ready'})`, async ({ from, to }) => {
  await withDisk(from, async ({ paths, upper }) => {
    let writing = true
    const writer = (async () => {
      for (let round = 0; writing; round += 1) {
        await using file = await open(join(upper, `file${round % 7}`), 'w')
        await file.write(Buffer.alloc(MIB, round))
      }
    })()
    await growDisk(paths, to, timeout())
    await growDisk(paths, to, timeout())
    writing = false
    await writer
    expect(await sizeOf(paths.diskMount)).toBeGreaterThan(to * 0.85)
    expect(await sizeOf(paths.diskMount)).toBeLessThanOrEqual(to)
  })
})

test.skipIf(reason !== null)(`a full disk has room after it grows (${reason ?? 'ready'})`, async () => {
  await withDisk(32, async ({ paths, upper }) => {
    expect(await fill(join(upper, 'first'))).toBeLessThan(32 * MIB)
    await growDisk(paths, 64, timeout())
    const more = await fill(join(upper, 'second'))
    expect(more).toBeGreaterThan(24 * MIB)
    expect(more).toBeLessThanOrEqual(40 * MIB)
    await rm(join(upper, 'first'))
  })
})

test.skipIf(reason !== null)(
  `finishes an interrupted growth, and shortens nothing (${reason ?? 'ready'})`,
  async () => {
    await withDisk(32, async ({ paths }) => {
      await truncate(paths.diskImage, 96 * MIB)
      await growDisk(paths, 64, timeout())
      expect(await sizeOf(paths.diskMount)).toBeGreaterThan(64)
    })
  },
)
