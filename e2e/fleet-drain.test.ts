import type { Runtime } from '@holt/sdk'
import { byLength } from '@holt/testkit'
import { expect, it } from 'vitest'
import { hasGateway } from '../packages/object-store/test/support/versitygw.ts'
import { hasPostgres } from '../packages/server/test/support/postgres-cluster.ts'
import { holt } from './support/cli.ts'
import { service } from './support/facts.ts'
import { CountReader, countsBeyond, startCounting } from './support/fleet/counting.ts'
import type { FleetHost } from './support/fleet/fleet-host.ts'
import { startFleet } from './support/fleet/start-fleet.ts'
import { clientOf, ownerOf, patiently, placedAt, seenAs } from './support/fleet/use-fleet.ts'
import { until } from './support/until.ts'

// A host is drained while many of its runtimes are in use. The followers of their output go on at
// the other host, and miss nothing.

/** The runtimes of the host. Each has two followers, one through each host. */
const size = byLength({ short: 10, long: 50, soak: 50 })

/** The time for one runtime to move on a slow machine, in milliseconds. */
const moveMs = 20_000

/** A runtime with a process that counts, and the followers of its output. */
interface Busy {
  readonly runtime: Runtime
  readonly command: string
  readonly word: string
  readonly readers: readonly CountReader[]
}

async function startBusy(one: FleetHost, two: FleetHost): Promise<Busy> {
  const client = clientOf(one)
  const created = () => client.runtimes.create({ isolation: 'gvisor', timeout_secs: null })
  const runtime = await patiently('a runtime is created', created)
  const command = await startCounting(runtime, 0.5)
  const { word } = await countsBeyond(runtime, command, 0)
  const views = [runtime, await clientOf(two).runtimes.get(runtime.runtime_id)]
  return { runtime, command, word, readers: await Promise.all(views.map((each) => CountReader.of(each, command))) }
}

it.skipIf(!hasPostgres() || service.unavailable.gvisor !== null)(
  `a drain moves ${size} busy runtimes, and their followers miss no byte`,
  async () => {
    await using fleet = await startFleet(2, hasGateway() ? 'S3' : 'a directory')
    const [one, two] = fleet.hosts as [FleetHost, FleetHost]
    for (const host of fleet.hosts) await seenAs(fleet, host, 'ready')
    const all = await placedAt(fleet, one, async () => {
      const busy: Busy[] = []
      while (busy.length < size) busy.push(await startBusy(one, two))
      return busy
    })
    const begunAt = performance.now()
    const drain = await holt(['host', 'drain', one.hostId], { env: { HOLT_URL: two.url, HOLT_API_KEY: two.key } })
    expect([drain.code, drain.stderr + drain.stdout]).toEqual([0, expect.stringContaining(`${size} to move`)])
    await until(
      'the host is empty',
      async () => {
        const { fleet: seen } =
          (await clientOf(two).hosts.list().all()).find(({ host_id }) => host_id === one.hostId) ?? {}
        return seen?.state === 'cordoned' && seen.runtimes === 0
      },
      size * moveMs,
    )
    for (const { runtime, command, word, readers } of all) {
      const id = runtime.runtime_id
      await until(`${id} is at the other host`, async () => (await ownerOf(fleet, id)) === two, size * moveMs)
      // Each follower checks that no line is lost, repeated, or of another process.
      const { count } = await countsBeyond(await clientOf(two).runtimes.get(id), command, 0)
      for (const reader of readers) {
        expect((await reader.reaches(count, size * moveMs)).word).toBe(word)
        await reader.stop()
      }
    }
    console.log(`${size} busy runtimes were drained in ${Math.round((performance.now() - begunAt) / 1_000)} s`)
    for (const { runtime } of all) await (await clientOf(two).runtimes.get(runtime.runtime_id)).delete()
  },
  size * 3 * moveMs + 300_000,
)
