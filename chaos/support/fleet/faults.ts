import { setTimeout as sleep } from 'node:timers/promises'
import type { FleetHost } from '../../../e2e/support/fleet/fleet-host.ts'
import type { Place } from '../../../e2e/support/fleet/fleet-network.ts'
import type { Fleet } from '../../../e2e/support/fleet/start-fleet.ts'

/** A fault of a fleet, about one of its hosts. */
export interface FleetFault {
  readonly name: string
  /** True if the host is silent until there is a verdict against it. */
  readonly isJudged: boolean
  begin(fleet: Fleet, victim: FleetHost): Promise<void>
  /** Called after the verdict, or at once where there is none. */
  end(fleet: Fleet, victim: FleetHost): Promise<void>
}

/** Longer than a fence would take, in milliseconds. */
const longMs = 20_000

const others = (fleet: Fleet, victim: FleetHost): Place[] =>
  fleet.hosts.filter((host) => host !== victim).map(({ place }) => place)

/** Returns a fault that lasts until the cuts are healed. */
function cutFault(
  name: string,
  isJudged: boolean,
  begin: (fleet: Fleet, victim: FleetHost) => Promise<void>,
): FleetFault {
  return { name, isJudged, begin, end: ({ network }) => network.heal() }
}

/** Returns a fault that ends where it begins. */
function passing(name: string, begin: FleetFault['begin']): FleetFault {
  return { name, isJudged: false, begin, end: async () => {} }
}

export const faults: readonly FleetFault[] = [
  cutFault('cut off from the database', true, ({ network }, { place }) => network.isolate(place, ['database'])),
  cutFault('no way to the database', true, ({ network }, { place }) => network.cut(place, 'database')),
  cutFault('no way from the database', true, ({ network }, { place }) => network.cut('database', place)),
  cutFault('cut off from everything of the fleet', true, (fleet, victim) =>
    fleet.network.isolate(victim.place, ['database', ...others(fleet, victim)]),
  ),
  {
    name: 'stopped, and woken after the verdict',
    isJudged: true,
    begin: async (_, victim) => victim.freeze(),
    end: async (_, victim) => victim.thaw(),
  },
  cutFault('cut off from the other hosts', false, async (fleet, victim) => {
    await fleet.network.isolate(victim.place, others(fleet, victim))
    await sleep(longMs)
  }),
  passing('killed and started', async (_, victim) => {
    await victim.kill()
    await victim.start()
  }),
  passing('stopped for three seconds', async (_, victim) => {
    victim.freeze()
    await sleep(3_000)
    victim.thaw()
  }),
  passing('a wall clock that is set', async (_, victim) => {
    victim.shiftClock(3_600_000)
    await sleep(2_000)
    victim.shiftClock(-3_600_000)
    await sleep(2_000)
    victim.shiftClock(0)
  }),
  passing('a database that starts again', async ({ cluster }) => {
    await cluster.kill()
    await cluster.start()
  }),
  passing('a database that is read-only for three seconds', async ({ cluster }) => {
    const set = async (on: boolean) => {
      await cluster.run(`ALTER SYSTEM SET default_transaction_read_only = ${on ? 'on' : 'off'}`)
      await cluster.run('SELECT pg_reload_conf()')
    }
    await set(true)
    await sleep(3_000)
    await set(false)
  }),
]
