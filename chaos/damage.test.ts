import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pageOf, Runtime } from '@holt/protocol'
import { expect, it } from 'vitest'
import { call, runtimesPath, success } from '../e2e/support/api.ts'
import { crash, restart } from '../e2e/support/crash.ts'
import { service } from '../e2e/support/facts.ts'
import { initOf } from '../e2e/support/host.ts'
import { findService, stateDir } from '../e2e/support/service-process.ts'
import { createRuntime, type TestRuntime } from '../e2e/support/test-runtime.ts'
import { recordResult } from './support/record-result.ts'
import { startAndFail } from './support/start-and-fail.ts'

// The state directory is damaged, belongs to another installation, or cannot be written. The daemon
// names the fault and changes nothing. Runtimes continue meanwhile.

const isolation = service.unavailable.gvisor === null ? 'gvisor' : 'container'

/**
 * Does the work while no daemon runs, then starts the next daemon. Expects the same runtime
 * afterwards.
 */
async function withoutDaemon(work: () => Promise<void>): Promise<void> {
  await using runtime = await createRuntime({ isolation })
  await runtime.sh('echo kept > /srv/kept')
  const init = initOf(runtime.id)
  await crash()
  try {
    await work()
  } finally {
    await restart()
  }
  expect(initOf(runtime.id)).toBe(init)
  expect(await runtime.sh('cat /srv/kept')).toBe('kept')
}

/** Puts the files of the database aside, and back afterwards. */
async function withDatabaseAside(work: (path: string) => Promise<void>): Promise<void> {
  const aside = mkdtempSync(join(tmpdir(), 'holt-chaos-'))
  const files = ['holt.db', 'holt.db-wal', 'holt.db-shm']
  for (const name of files) cpSync(join(stateDir, name), join(aside, name))
  try {
    await work(join(stateDir, 'holt.db'))
  } finally {
    for (const name of files) cpSync(join(aside, name), join(stateDir, name))
    rmSync(aside, { recursive: true })
  }
}

it('a damaged database is refused unchanged, and the daemon says what to do', async () => {
  await withoutDaemon(() =>
    withDatabaseAside(async (path) => {
      // Content in the log alone would hide the damage.
      execFileSync('rm', ['-f', `${path}-wal`, `${path}-shm`])
      const bytes = readFileSync(path)
      bytes.fill(0xa5, 4096 * 2, 4096 * 6)
      writeFileSync(path, bytes)
      const { code, said } = await startAndFail(service.port)
      expect(code).toBe(1)
      expect(said).toMatch(/is damaged: .+Nothing was changed.+holtd import FILE.+\.recover/s)
      expect(readFileSync(path).equals(bytes)).toBe(true)
    }),
  )
  recordResult('damaged-database', { refused: true })
})

it('a second daemon over a state directory is refused, and the first one continues', async () => {
  await using runtime = await createRuntime({ isolation })
  const pid = findService()
  const { code, said } = await startAndFail(0)
  expect(code).toBe(1)
  expect(said).toContain(`holtd runs already as process ${pid}`)
  expect(findService()).toBe(pid)
  expect((await runtime.run('echo here')).stdout).toBe('here\n')
})

it('a missing or stale lock does not block a start', async () => {
  for (const pid of [process.pid, 999_999_999]) {
    const holder = JSON.stringify({ pid, start_time: '1' })
    await withoutDaemon(async () => writeFileSync(join(stateDir, 'holtd.pid'), holder))
  }
})

it('a removed lock file does not let a second daemon start', async () => {
  await using runtime = await createRuntime({ isolation })
  const lock = join(stateDir, 'holtd.pid')
  const text = readFileSync(lock, 'utf8')
  rmSync(lock)
  try {
    const { code, said } = await startAndFail(0)
    expect(code).toBe(1)
    expect(said).toContain('another engine works in')
  } finally {
    writeFileSync(lock, text)
  }
  expect((await runtime.run('echo here')).stdout).toBe('here\n')
})

it('a read-only state directory is refused by name', async () => {
  await withoutDaemon(async () => {
    execFileSync('mount', ['--bind', stateDir, stateDir])
    try {
      execFileSync('mount', ['-o', 'remount,bind,ro', stateDir])
      const { code, said } = await startAndFail(service.port)
      expect(code).toBe(1)
      expect(said).toContain(stateDir)
      expect(said).toMatch(/EROFS|read-only/)
    } finally {
      execFileSync('umount', [stateDir])
    }
  })
})

// Damaged files of keys: packages/server/test/foundation/config/damaged-files.test.ts.
it('a damaged record and a damaged manifest affect nothing else', async () => {
  await using whole = await createRuntime({ isolation })
  const broken = await createRuntime({ isolation })
  const record = join(stateDir, 'runtimes', broken.id, 'runtime.json')
  const text = readFileSync(record, 'utf8')
  await crash()
  writeFileSync(record, '{"format":')
  mkdirSync(join(stateDir, 'checkpoints', 'cpdamaged'), { recursive: true })
  writeFileSync(join(stateDir, 'checkpoints', 'cpdamaged', 'manifest.json'), '{')
  await restart()
  expect((await whole.run('echo here')).stdout).toBe('here\n')
  expect((await broken.refresh()).state).toBe('failed')
  // An unreadable runtime is kept, because a newer Holt may have written it. With its record
  // restored, the daemon finds and removes it.
  await crash()
  writeFileSync(record, text)
  rmSync(join(stateDir, 'checkpoints', 'cpdamaged'), { recursive: true })
  await restart()
  await broken.delete()
  await expectList([whole])
})

/** The list has these runtimes, and no other that runs. */
async function expectList(runtimes: readonly TestRuntime[]): Promise<void> {
  const { data } = success(
    await call('GET', runtimesPath, { query: { limit: 100, state: 'running' } }),
    200,
    pageOf(Runtime),
  )
  expect(data.map(({ runtime_id }) => runtime_id).sort()).toEqual(runtimes.map(({ id }) => id).sort())
}
