import { FakeEngine } from '@holt/engine-testkit/fake'
import { makeId } from '@holt/protocol'
import { expect, test, vi } from 'vitest'
import { parseConfig } from '../../src/index.ts'
import { startTestServer } from '../support/start-test-server.ts'

const path = '/v1/agents/host'

/** A configuration with pools. It does not replace the store of the test. */
const pooled = (stateDir: string) => {
  const { pools } = parseConfig({ HOLT_STATE_DIR: stateDir, HOLT_POOL_MIN: '1', HOLT_POOL_MAX: '4' })
  return { pools }
}

test('an operator sees the host with its capacity, classes and checks', async () => {
  const hostId = makeId('host')
  const check = { name: 'memory', status: 'warn', message: '1 MiB', fix: 'add memory' } as const
  const checkedAt = Date.parse('2030-01-01T00:00:00.000Z')
  const { ask, makeRuntime } = await startTestServer({
    host: { hostId, checks: async () => ({ checks: [check], checkedAt }) },
    freeMemoryMiB: async () => 40_000,
    engine: new FakeEngine({
      facts: {
        isolation: {
          gvisor: { available: true, runner: 'runsc 1', canCheckpoint: true },
          container: { available: false, reason: 'no erofs', fix: 'modprobe erofs' },
        },
      },
    }),
  })
  await makeRuntime()
  await ask('POST', `/v1/agents/runtime/${await makeRuntime()}/pause`)
  const { status, json } = await ask('GET', path)
  expect([status, json.next_cursor, json.data.length]).toEqual([200, null, 1])
  expect(json.data[0]).toMatchObject({
    host_id: hostId,
    status: 'ready',
    reasons: [],
    engine: 'fake 0.2.0',
    isolation: {
      gvisor: { available: true, runner: 'runsc 1', can_checkpoint: true },
      container: { available: false, runner: null, reason: 'no erofs', fix: 'modprobe erofs' },
    },
    capacity: {
      memory_mib: 65_536,
      memory_available_mib: 40_000,
      // The paused one has no memory.
      memory_promised_mib: 1024,
      runtimes: { running: 1, paused: 1 },
    },
    pool_max: 0,
    pools: [],
    checks: [check],
    checked_at: '2030-01-01T00:00:00.000Z',
  })
})

test('a key without the scope operator does not see it', async () => {
  const { ask, makeKey } = await startTestServer()
  const { key } = await makeKey('admin')
  const { status, json } = await ask('GET', path, { key })
  expect([status, json.error.details.scope]).toEqual([403, 'operator'])
})

test('each pool has its members and the creates that it served', async () => {
  const server = await startTestServer({ config: pooled('/tmp') as never })
  const pools = async () => (await server.ask('GET', path)).json.data[0].pools
  const waits = { timeout: 20_000, interval: 50 }
  await vi.waitFor(async () => expect((await pools())[0]?.ready).toBeGreaterThan(0), waits)
  await server.makeRuntime()
  const [pool] = await pools()
  expect(pool).toMatchObject({ template: { name: 'base-small' }, isolation: 'gvisor', hits: 1, misses: 0 })
  expect(pool.wanted).toBeGreaterThan(0)
})

test('a host whose engine and checks fail is shown, with the reason', async () => {
  const failing = new (class extends FakeEngine {
    isBroken = false
    override describe() {
      return this.isBroken ? Promise.reject(new Error('no engine')) : super.describe()
    }
  })()
  const host = { hostId: makeId('host'), checks: () => Promise.reject(new Error('no machine')) }
  const { ask, logged } = await startTestServer({ engine: failing, host })
  failing.isBroken = true
  const [shown] = (await ask('GET', path)).json.data
  expect(shown).toMatchObject({ status: 'not_ready', engine: null, capacity: null, isolation: {}, checked_at: null })
  expect(shown.reasons).toEqual(['The engine does not answer, or is testing whether it can start a runtime.'])
  expect(logged.map(({ message }) => message)).toContain('the machine could not be checked')
})
