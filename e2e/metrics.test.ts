import { Command, Runtime, RuntimeMetrics } from '@holt/protocol'
import { expect, it } from 'vitest'
import { call, failure, success } from './support/api.ts'
import { describeClasses } from './support/classes.ts'
import { holt } from './support/cli.ts'
import { createRuntime, type TestRuntime } from './support/test-runtime.ts'
import { until } from './support/until.ts'

// The usage of a runtime is measured from outside. These tests make it use something, and read the
// figures.

const mib = 2 ** 20

async function metricsOf(runtime: TestRuntime, query = ''): Promise<RuntimeMetrics> {
  return success(await runtime.call('GET', `/metrics${query}`), 200, RuntimeMetrics)
}

async function nowOf(runtime: TestRuntime) {
  const { now } = await metricsOf(runtime)
  if (now === null) throw new Error('it is not on its host')
  return now
}

// Takes a second of the processor, however long that lasts.
const burn = `
import time
while time.process_time() < 1: pass`

describeClasses('metrics', (isolation) => {
  it('report the processor, memory, disk and processes of programs inside', async () => {
    await using runtime = await createRuntime({ isolation })
    const before = await nowOf(runtime)
    await runtime.run(['python', '-c', burn])
    await runtime.sh(`head -c ${16 * mib} /dev/urandom > /srv/data; sync`)
    const hold = ['python', '-c', `held = bytearray(b'x') * ${64 * mib}\nimport time\ntime.sleep(600)`]
    success(await runtime.call('POST', '/commands', { json: { argv: hold, background: true } }), 201, Command)
    await until(
      'the memory is told',
      async () => (await nowOf(runtime)).memory.used_bytes - before.memory.used_bytes > 56 * mib,
    )
    const after = await nowOf(runtime)
    expect(after.cpu.used_usec - before.cpu.used_usec).toBeGreaterThan(900_000)
    expect(after.cpu.rate).not.toBeNull()
    expect(after.disk.used_bytes - before.disk.used_bytes).toBeGreaterThanOrEqual(16 * mib)
    expect(after.processes).toBeGreaterThan(before.processes ?? Number.NaN)
    const { limits } = await metricsOf(runtime)
    expect(after.memory.used_bytes).toBeLessThanOrEqual(limits.memory_bytes)
    expect(after.disk.used_bytes).toBeLessThanOrEqual(limits.disk_bytes)
  })

  it('have past samples once the service has taken them', async () => {
    await using runtime = await createRuntime({ isolation })
    // An idle runtime is frozen, and is not measured.
    const busy = ['python', '-c', 'import time\nwhile True: time.sleep(0.1)']
    success(await runtime.call('POST', '/commands', { json: { argv: busy, background: true } }), 201, Command)
    await until('a look', async () => (await metricsOf(runtime, '?window_secs=60')).samples.length > 0, 60_000)
    const [sample] = (await metricsOf(runtime, '?window_secs=60')).samples
    expect(sample?.memory.used_bytes).toBeGreaterThan(0)
  })

  it('are printed by the command, and end with the runtime', async () => {
    const runtime = await createRuntime({ isolation })
    const { stdout } = await holt(['stats', '--json'])
    const { data } = JSON.parse(stdout.toString()) as { data: RuntimeMetrics[] }
    expect(data.map(({ runtime_id }) => runtime_id)).toContain(runtime.id)
    await runtime.delete()
    failure(await runtime.call('GET', '/metrics'), 'runtime_terminated')
  })

  it('of a paused runtime are empty, and do not resume it', async () => {
    if (isolation !== 'gvisor') return
    await using runtime = await createRuntime({ isolation })
    success(await runtime.call('POST', '/pause'), 200, Runtime)
    expect(await metricsOf(runtime)).toMatchObject({ state: 'paused', now: null })
    expect(success(await call('GET', runtime.path), 200, Runtime).state).toBe('paused')
  })
})
