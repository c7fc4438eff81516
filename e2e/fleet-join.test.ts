import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { programFile } from '@holt/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Cluster, hasPostgres, startCluster } from '../packages/server/test/support/postgres-cluster.ts'
import { call } from './support/api.ts'
import { restart, restartWith } from './support/crash.ts'
import { service } from './support/facts.ts'
import { initOf } from './support/host.ts'
import { nodeBinary, type Settings, serviceEnvironment, stateDir, stopService } from './support/service-process.ts'
import { createRuntime, type TestRuntime } from './support/test-runtime.ts'

const holt = programFile('holt')

/** The end of a command: what it wrote, and its output alone. */
interface Ended {
  readonly code: number
  readonly text: string
  readonly stdout: string
}

/** Runs the command line over the installation under test, with settings of its service. */
async function run(args: readonly string[], settings: Settings = {}): Promise<Ended> {
  const env = serviceEnvironment(service.port, settings)
  try {
    const ended = await promisify(execFile)(nodeBinary(), [holt, ...args], { cwd: '/', env, timeout: 120_000 })
    return { code: 0, text: ended.stdout + ended.stderr, stdout: ended.stdout }
  } catch (error) {
    const { code = -1, stdout = '', stderr = '' } = error as { code?: number; stdout?: string; stderr?: string }
    return { code, text: stdout + stderr, stdout }
  }
}

describe.skipIf(!hasPostgres() || service.unavailable.gvisor !== null)('a machine that becomes a fleet', () => {
  let cluster: Cluster
  let dir: string
  let runtime: TestRuntime
  let settings: Settings
  let init: ReturnType<typeof initOf>
  const status = async () => {
    const { code, stdout } = await run(['fleet', 'status', '--json'])
    return { code, ...JSON.parse(stdout) }
  }
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'holt-e2e-join-'))
    cluster = await startCluster({ durable: true })
    await cluster.run('CREATE DATABASE holt')
    settings = {
      HOLT_FLEET: '1',
      HOLT_DATABASE_URL: cluster.url('holt'),
      HOLT_PEER_ADDRESS: '127.0.0.1:0',
      HOLT_OBJECT_STORE: `file://${join(dir, 'objects')}`,
    }
    runtime = await createRuntime({ name: 'joins' })
    await runtime.sh('echo before >/root/kept')
    init = initOf(runtime.id)
  }, 180_000)
  afterAll(async () => {
    await restartWith({})
    await call('DELETE', runtime.path)
    await cluster[Symbol.asyncDispose]()
    await rm(dir, { recursive: true, force: true })
  }, 180_000)

  it('is refused before anything is changed', async () => {
    const elsewhere = await run(['fleet', 'join'], { ...settings, HOLT_PEER_ADDRESS: '192.0.2.1' })
    expect([elsewhere.code, elsewhere.text]).toEqual([1, expect.stringContaining('192.0.2.1 is no address of this')])
    const unreachable = await run(['fleet', 'join'], { ...settings, HOLT_DATABASE_URL: cluster.url('absent') })
    expect([unreachable.code, unreachable.text]).toEqual([1, expect.stringContaining('nothing was changed')])
    expect(existsSync(join(stateDir, 'holt.db'))).toBe(true)
    expect(await runtime.sh('cat /root/kept')).toBe('before')
  }, 180_000)

  it('moves its store, and its runtimes continue', async () => {
    const checked = await run(['fleet', 'join', '--check'], settings)
    expect([checked.code, checked.text]).toEqual([0, expect.stringContaining('ok   database: it is empty')])
    expect(await runtime.sh('cat /root/kept')).toBe('before')
    const joined = await run(['fleet', 'join'], settings)
    expect([joined.code, joined.text]).toEqual([0, expect.stringContaining('ready to be the first host')])
    expect(initOf(runtime.id)).toBe(init)
    expect(existsSync(join(stateDir, 'holt.db'))).toBe(false)
    // Without the settings of the fleet, nothing starts over an empty store.
    const again = await run(['fleet', 'join', '--check'], settings)
    expect([again.code, again.text]).toEqual([1, expect.stringContaining('it has a store already')])
    await restart(settings)
    expect(await runtime.sh('cat /root/kept')).toBe('before')
    expect(initOf(runtime.id)).toBe(init)
    const { code, hosts, problems } = await status()
    expect([code, hosts.length, problems]).toEqual([0, 1, []])
    expect(hosts[0].fleet).toMatchObject({ state: 'ready', runtimes: 1 })
    expect(hosts[0].fleet.blockers).toContainEqual(expect.objectContaining({ blocks: 'removal', code: 'running' }))
  }, 240_000)

  it('goes back, and its runtimes continue', async () => {
    await stopService()
    const file = join(dir, 'back.jsonl')
    expect((await run(['export', file], settings)).code).toBe(0)
    expect(await run(['import', '--keep-webhooks', file])).toMatchObject({ code: 0 })
    await restart({})
    expect(await runtime.sh('cat /root/kept')).toBe('before')
    expect(initOf(runtime.id)).toBe(init)
    expect((await status()).is_in_fleet).toBe(false)
    const kept = (await readdir(stateDir)).filter((name) => name.startsWith('holt.db.before-fleet-'))
    for (const name of kept) await rm(join(stateDir, name))
    expect(kept.length).toBeGreaterThan(0)
  }, 240_000)
})
