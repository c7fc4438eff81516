import { execFileSync } from 'node:child_process'
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { aloneWith } from '../../../src/foundation/store/alone.ts'
import { DiskReserve } from '../../../src/foundation/store/disk-reserve.ts'
import { openSqliteStore } from '../../../src/foundation/store/sqlite-store.ts'
import { recordEvent } from '../../../src/tenancy/events/record-event.ts'
import { ensureDefaultProject } from '../../../src/tenancy/keys/bootstrap.ts'

const isRoot = process.getuid?.() === 0

/** A file system of its own, 96 MiB large. */
function smallDisk(): string {
  const dir = mkdtempSync(join(tmpdir(), 'holt-reserve-'))
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=96m', 'holt-test', dir])
  onTestFinished(() => {
    execFileSync('umount', [dir])
    rmSync(dir, { recursive: true })
  })
  return dir
}

/** Writes until nothing more fits, to the last byte. */
function fillDisk(path: string): void {
  const file = openSync(path, 'a')
  try {
    for (let size = 2 ** 20; size >= 1; size = Math.floor(size / 2)) {
      try {
        for (;;) writeSync(file, Buffer.alloc(size))
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
      }
    }
  } finally {
    closeSync(file)
  }
}

test.skipIf(!isRoot)('changes work on a full disk, and the reserve is restored when there is room', async () => {
  const disk = smallDisk()
  const store = openSqliteStore(join(disk, 'holt.db'))
  onTestFinished(() => store.close())
  const projectId = await ensureDefaultProject(store, 1)
  const reserve = join(disk, 'holt.db-reserve')
  expect(statSync(reserve)).toMatchObject({ size: 8 * 2 ** 20 })
  fillDisk(join(disk, 'ballast'))

  for (let count = 0; count < 100; count += 1) {
    const data = { text: 'x'.repeat(1000) }
    await store.change(aloneWith(projectId), (changes) =>
      recordEvent(changes, { projectId, type: 'runtime.updated', subjectId: 'x', data, at: count }),
    )
  }
  expect(await store.db.selectFrom('events').selectAll().execute()).toHaveLength(100)
  expect(existsSync(reserve)).toBe(false)

  store.refillReserve()
  expect(existsSync(reserve)).toBe(false)
  rmSync(join(disk, 'ballast'))
  store.refillReserve()
  expect(existsSync(reserve)).toBe(true)
})

test.skipIf(!isRoot)('the reserve of an earlier process is used if the disk has no room for a new one', async () => {
  const disk = smallDisk()
  const path = join(disk, 'holt.db')
  const before = openSqliteStore(path)
  const projectId = await ensureDefaultProject(before, 1)
  await before.close()
  writeFileSync(join(disk, 'ballast'), Buffer.alloc(60 * 2 ** 20))

  const store = openSqliteStore(path)
  onTestFinished(() => store.close())
  fillDisk(join(disk, 'rest'))
  const data = { text: 'x'.repeat(100_000) }
  await store.change(aloneWith(projectId), (changes) =>
    recordEvent(changes, { projectId, type: 'runtime.updated', subjectId: 'x', data, at: 1 }),
  )
  expect(existsSync(`${path}-reserve`)).toBe(false)
})

test.skipIf(!isRoot)('an incomplete reserve of an earlier process is not used', async () => {
  const disk = smallDisk()
  const reserve = join(disk, 'reserve')
  writeFileSync(reserve, '')
  truncateSync(reserve, 8 * 2 ** 20)
  writeFileSync(join(disk, 'ballast'), Buffer.alloc(60 * 2 ** 20))
  const held = new DiskReserve(reserve)
  held.fill()
  expect(held.release()).toBe(false)
  rmSync(join(disk, 'ballast'))
  held.fill()
  expect(held.release()).toBe(true)
})
