import { Holt, HoltApiError, type HoltOptions, type Runtime } from '@holt/sdk'
import { ask } from '../../../packages/server/test/support/postgres-cluster.ts'
import { until } from '../until.ts'
import type { FleetHost } from './fleet-host.ts'
import type { Fleet } from './start-fleet.ts'

/** The time until all hosts see a change of the fleet, such as a verdict, in milliseconds. */
const changeMs = 120_000

/** Returns a client that sends all its requests to one host. */
export function clientOf({ url, key }: FleetHost, options: HoltOptions = {}): Holt {
  return new Holt({ ...options, url, apiKey: key })
}

/** Returns the host that a runtime belongs to; null: none. */
export async function ownerOf({ hosts, cluster }: Fleet, runtimeId: string): Promise<FleetHost | null> {
  const [row] = await ask(cluster.url('holt'), `SELECT host_id FROM runtimes WHERE runtime_id = '${runtimeId}'`)
  return hosts.find(({ hostId }) => hostId === row?.host_id) ?? null
}

/** Waits until all hosts see a host in a state. */
export async function seenAs({ hosts }: Fleet, host: FleetHost, state: string): Promise<void> {
  for (const each of hosts)
    await until(
      `${each.place} sees ${host.place} ${state}`,
      async () => {
        const listed = await clientOf(each).hosts.list().all()
        const { fleet } = listed.find(({ host_id }) => host_id === host.hostId) ?? {}
        return fleet?.state === state && fleet.silent_secs === null
      },
      changeMs,
    )
}

/** Runs a function while one host alone gets new runtimes. */
export async function placedAt<Result>(fleet: Fleet, host: FleetHost, run: () => Promise<Result>): Promise<Result> {
  const others = fleet.hosts.filter((one) => one !== host)
  for (const other of others) await clientOf(host).hosts.cordon(other.hostId)
  for (const other of others) await seenAs(fleet, other, 'cordoned')
  try {
    return await run()
  } finally {
    for (const other of others) await clientOf(host).hosts.uncordon(other.hostId)
    for (const other of others) await seenAs(fleet, other, 'ready')
  }
}

/** Waits until a runtime is in a state, as a host tells it, and returns the runtime. */
export async function stateAt(host: FleetHost, runtimeId: string, state: Runtime['state']): Promise<Runtime> {
  return until(
    `${runtimeId} is ${state}`,
    async () => {
      const runtime = await clientOf(host).runtimes.get(runtimeId)
      return runtime.state === state ? runtime : null
    },
    changeMs,
  )
}

/** Waits until no host has a paused runtime: the object store has it. */
export async function storedAway(fleet: Fleet, runtimeId: string): Promise<void> {
  await until(
    `${runtimeId} belongs to no host`,
    async () => (await ownerOf(fleet, runtimeId)) === null,
    // A failed upload is tried again after growing delays.
    changeMs,
  )
}

/** Repeats a request while its answer is 503, as a client does. */
export async function patiently<Result>(what: string, request: () => Promise<Result>): Promise<Result> {
  return until(
    what,
    async () => {
      try {
        return { result: await request() }
      } catch (error) {
        if (error instanceof HoltApiError && error.httpStatus === 503) return null
        throw error
      }
    },
    changeMs,
  ).then(({ result }) => result)
}
