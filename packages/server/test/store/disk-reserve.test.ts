import { execFileSync } from 'node:child_process'
import { closeSync, existsSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { recordEvent } from '../../src/events/record-event.ts'
import { ensureDefaultProject } from '../../src/keys/bootstrap.ts'
import { openSqliteStore } from '../../src/store/sqlite-store.ts'

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

test.skipIf(!isRoot)(
  'changes go on when the disk is full to the last byte, and the reserve comes back with the room',
  async () => {
    const disk = smallDisk()
    const store = openSqliteStore(join(disk, 'holt.db'))
    onTestFinished(() => store.close())
    const projectId = await ensureDefaultProject(store, 1)
    const reserve = join(disk, 'holt.db-reserve')
    expect(statSync(reserve)).toMatchObject({ size: 8 * 2 ** 20 })
    fillDisk(join(disk, 'ballast'))

    for (let count = 0; count < 100; count += 1) {
      const data = { text: 'x'.repeat(1000) }
      await store.change((changes) =>
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
  },
)
