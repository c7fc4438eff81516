import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Cluster, hasPostgres, startCluster } from '../packages/server/test/support/postgres-cluster.ts'
import { call, runtimesPath } from './support/api.ts'
import { crash, restart, restartWith } from './support/crash.ts'
import { service } from './support/facts.ts'
import { initOf } from './support/host.ts'
import { nodeBinary, repository, type Settings, serviceEnvironment, stopService } from './support/service-process.ts'
import { createRuntime, type TestRuntime } from './support/test-runtime.ts'
import { until } from './support/until.ts'

const holtd = join(repository, 'packages', 'server', 'src', 'main.ts')

/** Runs a verb of the daemon's program over the installation under test. */
async function run(args: readonly string[], settings: Settings = {}): Promise<void> {
  const env = serviceEnvironment(service.port, settings)
  await promisify(execFile)(nodeBinary(), [holtd, ...args], { cwd: '/', env, timeout: 60_000 })
}

describe.skipIf(!hasPostgres() || service.unavailable.gvisor !== null)('the store in PostgreSQL', () => {
  let cluster: Cluster
  let dir: string
  let moved: TestRuntime
  let settings: Settings
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'holt-e2e-postgres-'))
    cluster = await startCluster({ durable: true })
    await cluster.run('CREATE DATABASE holt')
    settings = { HOLT_DATABASE_URL: cluster.url('holt') }
    moved = await createRuntime({ name: 'moved' })
    await moved.sh('echo before >/root/kept')
    await stopService()
    await run(['export', join(dir, 'store.jsonl')])
    await run(['import', join(dir, 'store.jsonl')], settings)
    await restart(settings)
  }, 180_000)
  afterAll(async () => {
    // The store in the file has this one, and no other that was made meanwhile.
    await restartWith({})
    await call('DELETE', moved.path)
    await cluster[Symbol.asyncDispose]()
    await rm(dir, { recursive: true, force: true })
  }, 120_000)

  it('imports the rows of the file, and its runtimes continue', async () => {
    expect(await moved.sh('cat /root/kept')).toBe('before')
  })

  it('finds runtimes again after a kill -9 of the service', async () => {
    await using runtime = await createRuntime()
    await runtime.sh('echo here >/root/kept')
    const init = initOf(runtime.id)
    await crash()
    expect(initOf(runtime.id)).toBe(init)
    await restart(settings)
    expect(await runtime.sh('cat /root/kept')).toBe('here')
    expect(initOf(runtime.id)).toBe(init)
  })

  it('is retried until it returns: requests are refused meanwhile, and runtimes continue', async () => {
    await using runtime = await createRuntime()
    const init = initOf(runtime.id)
    await cluster.kill()
    const refused = await call('GET', `${runtimesPath}/${runtime.id}`)
    expect([refused.status, JSON.parse(refused.text).error.code]).toEqual([503, 'unavailable'])
    expect(refused.text).not.toContain('postgres')
    expect((await call('POST', runtimesPath, { json: {} })).status).toBe(503)
    await cluster.start()
    await until('it answers again', async () => (await call('GET', runtime.path)).status === 200, 30_000)
    expect(await runtime.sh('echo on')).toBe('on')
    expect(initOf(runtime.id)).toBe(init)
  })
})
