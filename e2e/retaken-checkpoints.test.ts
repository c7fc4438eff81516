import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readiness, Template } from '@holt/protocol'
import { afterAll, describe, expect, it } from 'vitest'
import { call, success } from './support/api.ts'
import { restart } from './support/crash.ts'
import { service } from './support/facts.ts'
import { checkpoints, checkpointsDir } from './support/host-disk.ts'
import { closeConnections } from './support/http.ts'
import { stopService } from './support/service-process.ts'
import { built, templatesPath } from './support/test-build.ts'
import { createRuntime } from './support/test-runtime.ts'
import { until } from './support/until.ts'

// After an upgrade of gVisor the service takes the checkpoints of built templates again.

const name = 'retaken-checkpoint'
const withoutGvisor = service.unavailable.gvisor !== null && !process.env.CI

/** Changes the maker of a checkpoint to an older gVisor. */
function makeOlder(checkpointId: string): void {
  const path = join(checkpointsDir, checkpointId, 'manifest.json')
  const manifest = JSON.parse(readFileSync(path, 'utf8'))
  manifest.maker.runner = 'runsc 20240729'
  writeFileSync(path, JSON.stringify(manifest))
}

/** The name that the application gave itself when it started, from a new runtime. */
async function startOf(): Promise<string> {
  await using runtime = await createRuntime({ template: name, isolation: 'gvisor' })
  return await runtime.sh('cat /var/tmp/started')
}

describe.skipIf(withoutGvisor)('a template with a checkpoint of an older gVisor', () => {
  afterAll(async () => {
    await call('DELETE', `${templatesPath}/${name}`)
  })

  it('is restored from a new checkpoint after the start, with the network of its build', async () => {
    const known = new Set(checkpoints())
    await built({
      name,
      from_template: 'base-small',
      no_cache: true,
      network_policy: { allow: [{ host: 'api.example.com', methods: ['GET'] }] },
      start_cmd:
        'curl -fsS https://api.example.com/started > /dev/null && cat /proc/sys/kernel/random/uuid > /var/tmp/started && exec sleep infinity',
      ready_cmd: 'test -s /var/tmp/started',
    })
    const first = await startOf()
    expect(await startOf()).toBe(first)
    const { size_bytes: size } = success(await call('GET', `${templatesPath}/${name}`), 200, Template)
    await stopService()
    closeConnections()
    for (const one of checkpoints()) if (!known.has(one)) makeOlder(one)
    await restart()
    const taken = async () => {
      const { retakes } = success(await call('GET', '/readyz', { key: null }), 200, Readiness)
      return retakes !== undefined && retakes.waiting === 0 && retakes.taken > 0
    }
    await until('the checkpoint is taken again', taken, 60_000)
    const second = await startOf()
    expect(second).not.toBe(first)
    expect(await startOf()).toBe(second)
    const now = success(await call('GET', `${templatesPath}/${name}`), 200, Template)
    expect(now).toMatchObject({ starts: 'restored', has_checkpoint: true, state: 'ready' })
    expect(Math.abs((now.size_bytes ?? 0) / (size ?? 1) - 1)).toBeLessThan(0.2)
  }, 300_000)
})
