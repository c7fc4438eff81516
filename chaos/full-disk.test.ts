import { randomBytes } from 'node:crypto'
import { CommandResult, FileInfo } from '@holt/protocol'
import { expect, it } from 'vitest'
import { type Answer, anyFailure, call, failure, runtimesPath, success } from '../e2e/support/api.ts'
import { crash, restart } from '../e2e/support/crash.ts'
import { service } from '../e2e/support/facts.ts'
import { daemonPid } from '../e2e/support/host.ts'
import { listBelongings } from '../e2e/support/leaks.ts'
import { nothingLeft } from '../e2e/support/lifecycle/states.ts'
import { findService, stopService } from '../e2e/support/service-process.ts'
import { createRuntime, type TestRuntime } from '../e2e/support/test-runtime.ts'
import { deleteSnapshots } from '../e2e/support/test-snapshots.ts'
import { until } from '../e2e/support/until.ts'
import { every } from './support/length.ts'
import { recordResult } from './support/record-result.ts'
import { onSmallDisk, SmallDisk } from './support/small-disk.ts'
import { startAndFail } from './support/start-and-fail.ts'

// The whole service on a disk that is full, has no inodes, or turns read-only. Running runtimes go
// on, every acknowledged change is kept, and with free room all works as before.

const classes = (['gvisor', 'container'] as const).filter((isolation) => service.unavailable[isolation] === null)

/** A filesystem snapshot writes a whole image, so only a long run takes one. */
const kindOfSnapshot = classes.includes('gvisor') && !every ? 'memory' : 'filesystem'

const policiesPath = '/v1/agents/network-policy'
const contextsPath = '/v1/agents/template/context'

/** Creates runtimes of each class with a file, and a snapshot of one of them. */
async function begin(): Promise<{ readonly runtimes: readonly TestRuntime[]; readonly snapshot: string }> {
  const runtimes: TestRuntime[] = []
  for (const isolation of classes) {
    const runtime = await createRuntime({ isolation })
    await runtime.sh('echo kept > /srv/kept; sync')
    runtimes.push(runtime)
  }
  const [first] = runtimes
  if (first === undefined) throw new Error('no class of isolation is available')
  return { runtimes, snapshot: (await first.snapshot({ kind: kindOfSnapshot })).snapshot_id }
}

/**
 * Expects that each runtime runs `true`, perhaps after a retry: a broken connection is an error of
 * the catalogue.
 */
async function expectAlive(runtimes: readonly TestRuntime[]): Promise<void> {
  for (const runtime of runtimes)
    await until(`${runtime.id} answers`, async () => {
      const answer = await runtime.call('POST', '/commands', { json: { command: 'true' } })
      return expectAnswer(answer) && success(answer, 200, CommandResult).exit_code === 0
    })
}

async function expectKept(runtimes: readonly TestRuntime[]): Promise<void> {
  for (const runtime of runtimes) expect(await runtime.sh('cat /srv/kept')).toBe('kept')
}

/**
 * Expects success, or an error of the catalogue that is no fault of the service. Returns true for
 * success.
 */
function expectAnswer(answer: Answer): boolean {
  if (answer.status < 300) return true
  anyFailure(answer)
  return false
}

/**
 * Uploads a file, and returns the content that it must have from now on; null if any content is
 * valid.
 */
async function upload(runtime: TestRuntime, path: string): Promise<Buffer | null> {
  const body = randomBytes(2 ** 20)
  const answer = await runtime.call('PUT', '/files/content', { query: { path }, body })
  if (!expectAnswer(answer)) return null
  success(answer, answer.status, FileInfo)
  return body
}

async function expectFile(runtime: TestRuntime, path: string, content: Buffer): Promise<void> {
  const { bytes } = await runtime.call('GET', '/files/content', { query: { path } })
  expect(bytes.equals(content)).toBe(true)
}

it.each(every ? (['blocks', 'inodes'] as const) : (['blocks'] as const))(
  'where no %s are left what runs goes on, nothing is made, one goes, and the next daemon starts',
  { timeout: 600_000 },
  async (what) => {
    await using disk = await SmallDisk.mount()
    const before = listBelongings(service)
    const { runtimes, snapshot } = await begin()
    const [gone, ...others] = [await createRuntime(), ...runtimes]
    const [first] = runtimes
    if (first === undefined) throw new Error('no runtime')
    const pid = daemonPid()
    const taken = disk.fill(what)

    await expectAlive([gone, ...others])
    failure(await call('POST', runtimesPath, { json: {} }), 'disk_full')
    failure(await call('POST', runtimesPath, { json: { snapshot } }), 'disk_full')
    for (const kind of ['memory', 'filesystem'])
      failure(await first.call('POST', '/snapshot', { json: { kind } }), 'disk_full')
    failure(await first.call('POST', '/fork', { json: {} }), 'disk_full')
    failure(await call('POST', contextsPath, { body: randomBytes(2 ** 20) }), 'disk_full')
    const name = `p-${what}`
    const named = expectAnswer(await call('POST', policiesPath, { json: { name, allow: [] } }))
    const uploaded = await upload(first, '/srv/uploaded')
    await gone.delete()
    // Fills the freed room and the store's reserve too.
    disk.fill(what)
    await expectAlive(others)
    expect(daemonPid()).toBe(pid)

    await crash()
    await restart(onSmallDisk)
    await expectAlive(others)
    await stopService()
    await restart(onSmallDisk)
    await expectAlive(others)
    failure(await call('POST', runtimesPath, { json: {} }), 'disk_full')

    disk.empty()
    await expectKept(others)
    if (uploaded !== null) await expectFile(first, '/srv/uploaded', uploaded)
    expect((await call('GET', `${policiesPath}/${name}`)).status).toBe(named ? 200 : 404)
    if (named) expect((await call('DELETE', `${policiesPath}/${name}`)).status).toBe(204)
    const made = await createRuntime({ snapshot })
    await expectKept([made])
    await deleteSnapshots(snapshot)
    for (const runtime of [made, ...others]) await runtime.delete()
    await nothingLeft(before)
    recordResult('full-disk', { what, taken, uploaded: uploaded !== null, policy: named })
  },
)

const readOnly =
  'where the disk turns read-only what runs goes on as long as the daemon does, nothing is acknowledged, and all is there when it is mended'
// A short run only fills the blocks.
if (every)
  it(readOnly, { timeout: 600_000 }, async () => {
    await using disk = await SmallDisk.mount()
    const before = listBelongings(service)
    const { runtimes, snapshot } = await begin()
    const [first] = runtimes
    if (first === undefined) throw new Error('no runtime')
    disk.fail()
    const alive = () => findService() !== null
    for (const runtime of runtimes) if (alive()) await runtime.run('true')
    const asked = [
      () => call('POST', runtimesPath, { json: {} }),
      () => first.call('POST', '/snapshot', { json: {} }),
      () => call('POST', contextsPath, { body: randomBytes(2 ** 20) }),
      () => call('POST', policiesPath, { json: { name: 'p', allow: [] } }),
      () => call('DELETE', first.path),
    ]
    for (const ask of asked) {
      if (!alive()) continue
      const answer = await ask().catch(() => null) // A disk that fails a sync ends the daemon.
      if (answer !== null) expect(anyFailure(answer).code, answer.text).toMatch(/^(unavailable|disk_full)$/)
    }
    const survived = alive()
    await crash()
    const { code, said } = await startAndFail(service.port)
    expect(code).toBe(1)
    expect(said).toContain(service.stateDir)
    expect(said).toMatch(/EROFS|read-only/)

    await disk.mend()
    await restart(onSmallDisk)
    const made = await createRuntime({ snapshot })
    await expectKept([made])
    expect((await call('GET', `${policiesPath}/p`)).status).toBe(404)
    for (const runtime of runtimes) {
      expect((await runtime.refresh()).state).toBe('failed')
      await runtime.delete()
    }
    await deleteSnapshots(snapshot)
    await made.delete()
    await nothingLeft(before)
    recordResult('full-disk', { what: 'read-only', daemon_survived: survived })
  })
