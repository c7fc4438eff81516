import { byLength, testSeed } from '@holt/testkit'
import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { hostRow, pass, type TestHost } from '../../support/fleet.ts'
import {
  expectFile,
  type MovingFleet,
  makeWithFile,
  runtimePath as path,
  patience,
  rowOf,
  startMovingFleet,
} from '../../support/moving-fleet.ts'

const hostCount = 3
const runtimeCount = 4

const at = fc.nat({ max: hostCount - 1 })
const which = fc.nat({ max: runtimeCount - 1 })

/** A step of a history. `at` is the entry, or the host that something happens to. */
const step = fc.oneof(
  fc.record({ type: fc.constantFrom('pause' as const, 'resume' as const, 'read' as const), at, which }),
  fc.record({ type: fc.constantFrom('pause' as const, 'resume' as const, 'read' as const), at, which }),
  fc.record({
    type: fc.constantFrom('drain' as const, 'restart' as const, 'cut' as const, 'outage' as const),
    at,
    which,
  }),
)
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

/** A fleet with the hosts as they run now, and the runtimes that a verdict may have ended. */
interface Played {
  readonly fleet: MovingFleet
  readonly hosts: TestHost[]
  readonly ids: readonly string[]
  readonly mayFail: Set<string>
  /** The hosts that were drained. A move away from one may be under way at any later step. */
  readonly drained: Set<string>
}

/** Sends a request whose answer may also be that the runtime cannot be reached now. */
async function ask({ server }: TestHost, method: string, target: string): Promise<void> {
  const { status, text } = await server.ask(method, target)
  expect([200, 409, 410, 503], text).toContain(status)
}

async function play({ fleet, hosts, ids, mayFail, drained }: Played, { type, at, which }: Step): Promise<void> {
  const host = hosts[at] as TestHost
  const id = ids[which] as string
  switch (type) {
    case 'pause':
    case 'resume':
      return ask(host, 'POST', `${path}/${id}/${type}`)
    case 'read':
      return ask(host, 'GET', `${path}/${id}/files/content?path=/workspace/a`)
    case 'outage':
      fleet.objects.isDown = !fleet.objects.isDown
      return
    case 'restart':
      hosts[at] = await host.restart()
      return
    case 'drain': {
      const entry = hosts[(at + 1) % hostCount] as TestHost
      drained.add(host.hostId)
      await entry.server.ask('POST', `/v1/agents/host/${host.hostId}/drain`, { json: {} })
      await pass(1, { store: fleet.store, hosts, beating: hosts })
      await entry.server.ask('POST', `/v1/agents/host/${host.hostId}/uncordon`)
      return
    }
    case 'cut': {
      const others = hosts.filter((each) => each !== host)
      const before = await Promise.all(ids.map((each) => rowOf(fleet, each)))
      host.cable.isCut = true
      await pass(310_000, { store: fleet.store, hosts, beating: others })
      const isElsewhere = ({ state, host_id }: (typeof before)[number]) =>
        host_id !== null && host_id !== host.hostId && state === 'running' && !drained.has(host_id)
      const isStored = ({ state, host_id }: (typeof before)[number]) =>
        state === 'paused' && host_id === null && drained.size === 0
      for (const row of before) if (!isElsewhere(row) && !isStored(row)) mayFail.add(row.runtime_id)
      host.cable.isCut = false
      await vi.waitUntil(() => host.overs.length > 0, patience)
      hosts[at] = await host.restart()
    }
  }
}

/** Waits until nothing changes by itself, and compares the rows with the engines. */
async function settle({ fleet, hosts, ids, mayFail }: Played): Promise<void> {
  fleet.objects.isDown = false
  for (const host of hosts)
    await vi.waitUntil(async () => (await hostRow(fleet.store, host)).state === 'ready', patience)
  for (const host of hosts) host.clock.ms += 5_000
  for (const id of ids) {
    const row = await rowOf(fleet, id)
    if (row.state === 'failed') {
      expect(mayFail).toContain(id)
      continue
    }
    await vi.waitUntil(async () => {
      const [entry] = hosts as [TestHost]
      return (await entry.server.ask('POST', `${path}/${id}/resume`)).json.state === 'running'
    }, patience)
    for (const host of hosts) await expectFile(host, id)
    const { host_id } = await rowOf(fleet, id)
    await vi.waitUntil(async () => (await speakers(hosts, id)).join() === host_id, patience)
  }
}

/** Returns the hosts whose engine runs a runtime. */
async function speakers(hosts: readonly TestHost[], id: string): Promise<string[]> {
  const found: string[] = []
  for (const { hostId, engine } of hosts) if ((await engine.inspect(id)) !== null) found.push(hostId)
  return found
}

test('random moves lose nothing that is stored, and one host at most has a runtime', {
  timeout: byLength({ short: 300_000, long: 1_800_000, soak: 7_200_000 }),
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 10 }), async (steps) => {
      const fleet = await startMovingFleet(hostCount)
      const hosts = [...fleet.hosts]
      const ids: string[] = []
      while (ids.length < runtimeCount) ids.push(await makeWithFile(hosts[ids.length % hostCount] as TestHost))
      const played: Played = { fleet, hosts, ids, mayFail: new Set(), drained: new Set() }
      for (const each of steps) await play(played, each)
      await settle(played)
      for (const { server } of hosts) await server.close()
    }),
    { numRuns: byLength({ short: 3, long: 20, soak: 100 }), seed: testSeed() },
  )
})
