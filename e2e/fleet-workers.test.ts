import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { testLength } from '@holt/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hasGateway } from '../packages/object-store/test/support/versitygw.ts'
import { hasPostgres } from '../packages/server/test/support/postgres-cluster.ts'
import { service } from './support/facts.ts'
import { countsBeyond, startCounting } from './support/fleet/counting.ts'
import type { FleetHost } from './support/fleet/fleet-host.ts'
import { type Fleet, startFleet } from './support/fleet/start-fleet.ts'
import { beginWorkers, workerSettings } from './support/fleet/start-workers.ts'
import { clientOf, ownerOf, patiently, storedAway } from './support/fleet/use-fleet.ts'
import { until } from './support/until.ts'

// Real daemons: a front that runs as nobody, and two workers that join it with a token.

const canRun = hasPostgres() && service.unavailable.gvisor === null && testLength() !== 'short'

describe.skipIf(!canRun)('a front and two workers', () => {
  let fleet: Fleet
  let front: FleetHost
  beforeAll(async () => {
    fleet = await startFleet(3, hasGateway() ? 'S3' : 'a directory', {}, beginWorkers)
    ;[front] = fleet.hosts as [FleetHost]
    await until('the front sees both workers', async () => (await readyHosts()).length === 2, 60_000)
  }, 300_000)
  afterAll(() => fleet?.[Symbol.asyncDispose](), 300_000)

  const readyHosts = async () => {
    const hosts = await clientOf(front).hosts.list().all()
    return hosts.filter((host) => host.fleet?.state === 'ready')
  }

  it('resumes a runtime at the other worker after its own was killed', async () => {
    const client = clientOf(front)
    const value = 'a value of a secret that no worker keeps'
    await client.secrets.create({ name: 'inner', value, env: true })
    const create = (more: object) =>
      patiently('the runtime is created', () =>
        client.runtimes.create({ isolation: 'gvisor', timeout_secs: null, ...more }),
      )
    const holder = await create({ secrets: ['inner'] })
    expect((await holder.commands.run('printenv inner INNER; true')).stdout).toContain(value)
    await holder.delete()
    const runtime = await create({})
    const id = runtime.runtime_id
    const owner = await ownerOf(fleet, id)
    const other = fleet.hosts.find((host) => host !== front && host !== owner)
    if (owner === null || other === undefined) throw new Error('no worker has the runtime')
    expect(owner.place).not.toBe(front.place)
    const command = await startCounting(runtime)
    const { word, count } = await countsBeyond(runtime, command, 0)
    await runtime.pause()
    await storedAway(fleet, id)
    await owner.powerOff()
    await patiently('the runtime is resumed', async () => (await client.runtimes.get(id)).resume())
    expect((await ownerOf(fleet, id))?.place).toBe(other.place)
    expect((await countsBeyond(await client.runtimes.get(id), command, count)).word).toBe(word)
    // It needs no token any more.
    await owner.start(workerSettings)
    for (const worker of [owner, other]) {
      const names = readdirSync(worker.stateDir)
      expect(names.filter((name) => /master-keys|port-secret|credentials/.test(name))).toEqual([])
      expect(readFileSync(join(worker.stateDir, 'worker.json'), 'utf8')).not.toContain(front.key)
      expect(worker.log(10_000)).not.toContain(value)
      expect((await fetch(`${worker.url}/v1/agents/runtime`, bearer(front.key))).status).toBe(503)
    }
    await (await client.runtimes.get(id)).delete()
  }, 300_000)
})

function bearer(key: string): RequestInit {
  return { headers: { authorization: `Bearer ${key}` } }
}
