import { expect } from 'vitest'
import type { FleetHost } from '../../../e2e/support/fleet/fleet-host.ts'
import type { Fleet } from '../../../e2e/support/fleet/start-fleet.ts'
import { addedTo, type Belongings } from '../../../e2e/support/leaks.ts'
import { until } from '../../../e2e/support/until.ts'
import { askHost, stateOf } from './fleet-client.ts'
import { belongingsOf } from './host-belongings.ts'

const runtimesPath = '/v1/agents/runtime'

/** The states of a runtime in which its host works on it. */
const passing = ['starting', 'pausing', 'resuming', 'terminating']

/** The time in which a healed fleet comes to rest, in milliseconds. */
const restMs = 60_000

/** Returns true if a host is ready and heard of. */
function isHeardReady({ fleet }: { readonly fleet: { readonly state: string; readonly silent_secs: number | null } }) {
  return fleet.state === 'ready' && fleet.silent_secs === null
}

/**
 * Waits until the fleet is healed: all hosts are ready, and each runtime answers through each.
 * Those of a host that was lost have failed.
 */
export async function atRest(
  { hosts }: Fleet,
  runtimes: ReadonlyMap<string, FleetHost>,
  lost: FleetHost | null,
): Promise<void> {
  for (const host of hosts) {
    const states = async () => {
      const listed = await askHost(host, 'GET', '/v1/agents/host')
      return listed?.status === 200 && listed.json.data.every(isHeardReady)
    }
    await until(`${host.place} sees only ready hosts`, states, restMs)
  }
  for (const [id, owner] of runtimes)
    for (const host of hosts) {
      const told = await until(
        `${host.place} tells a lasting state of ${id}`,
        async () => {
          const one = await stateOf(host, id)
          return one === null || passing.includes(one.state) ? null : one
        },
        restMs,
      )
      expect([id, told.state]).toEqual([id, owner === lost ? 'failed' : 'running'])
      if (owner === lost) continue
      await until(`${id} answers through ${host.place}`, async () => {
        const ran = await askHost(host, 'POST', `${runtimesPath}/${id}/commands`, { argv: ['echo', id] })
        return ran?.status === 200 && ran.json.stdout === `${id}\n`
      })
    }
}

/** Waits until no host has more than before: every runtime has ended. */
export async function nothingLeft(before: ReadonlyMap<FleetHost, Belongings>): Promise<void> {
  for (const [host, had] of before) {
    let added: Belongings = []
    const isBack = async () => {
      added = addedTo(had, belongingsOf(host))
      return added.length === 0
    }
    await until(`${host.place} has nothing left`, isBack, restMs).catch((cause: unknown) => {
      throw new Error(`${host.place} has left:\n${added.join('\n')}`, { cause })
    })
  }
}
