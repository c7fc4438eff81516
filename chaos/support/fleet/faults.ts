import { setTimeout as sleep } from 'node:timers/promises'
import type { StoreBehaviour } from '../../../e2e/support/fleet/faulty-store.ts'
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
const longMs = 27_000

/** The time of a fault that a fleet has to work through, in milliseconds. */
const whileMs = 10_000

const others = (fleet: Fleet, victim: FleetHost): Place[] =>
  fleet.hosts.filter((host) => host !== victim).map(({ place }) => place)

type Begin = FleetFault['begin']

/** Returns a fault of the network by which the host is lost. It lasts until the cuts are healed. */
function judgedCut(name: string, begin: Begin): FleetFault {
  return { name, isJudged: true, begin, end: ({ network }) => network.heal() }
}

/** Returns a fault of the network by which no host is lost. */
function cut(name: string, begin: Begin, ms: number): FleetFault {
  const last: Begin = async (fleet, victim) => {
    await begin(fleet, victim)
    await sleep(ms)
  }
  return { name, isJudged: false, begin: last, end: ({ network }) => network.heal() }
}

/** Returns a fault that ends where it begins. */
function passing(name: string, begin: Begin): FleetFault {
  return { name, isJudged: false, begin, end: async () => {} }
}

const ofTheNetwork: readonly FleetFault[] = [
  judgedCut('cut off from the database', ({ network }, { place }) => network.isolate(place, ['database'])),
  judgedCut('no way to the database', ({ network }, { place }) => network.cut(place, 'database')),
  judgedCut('no way from the database', ({ network }, { place }) => network.cut('database', place)),
  judgedCut('cut off from everything of the fleet', (fleet, victim) =>
    fleet.network.isolate(victim.place, ['database', 'store', ...others(fleet, victim)]),
  ),
  cut(
    'cut off from the other hosts',
    (fleet, victim) => fleet.network.isolate(victim.place, others(fleet, victim)),
    longMs,
  ),
  cut(
    'no way to the other hosts',
    async (fleet, victim) => {
      for (const other of others(fleet, victim)) await fleet.network.cut(victim.place, other)
    },
    longMs,
  ),
  cut(
    'no way from the other hosts',
    async (fleet, victim) => {
      for (const other of others(fleet, victim)) await fleet.network.cut(other, victim.place)
    },
    longMs,
  ),
  cut('cut off from the store', ({ network }, { place }) => network.isolate(place, ['store']), longMs),
  cut('no way to the store', ({ network }, { place }) => network.cut(place, 'store'), whileMs),
  cut('no way from the store', ({ network }, { place }) => network.cut('store', place), whileMs),
  cut('a tenth of its packets is lost', ({ network }, { place }) => network.lose(place, 0.1), whileMs),
  cut('a network of two megabits', ({ network }, { place }) => network.slow(place, 2_000), whileMs),
]

const ofTheDaemon: readonly FleetFault[] = [
  {
    name: 'stopped, and woken after the verdict',
    isJudged: true,
    begin: async (_, victim) => victim.freeze(),
    end: async (_, victim) => victim.thaw(),
  },
  {
    name: 'without power until the verdict',
    isJudged: true,
    begin: (_, victim) => victim.powerOff(),
    end: async () => {},
  },
  passing('killed and started', async (_, victim) => {
    await victim.kill()
    await victim.start()
  }),
  passing('stopped in order, and started', async (_, victim) => {
    await victim.stop()
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
  passing('a wall clock that jumps', async (_, victim) => {
    for (const seconds of [5, -5, 25, -25, 1, -1, 3, -3, 0]) {
      victim.shiftClock(seconds * 1_000)
      await sleep(1_000)
    }
  }),
]

const ofTheDatabase: readonly FleetFault[] = [
  passing('a database that starts again', async ({ cluster }) => {
    await cluster.kill()
    await cluster.start()
  }),
  passing('a database that is away for five seconds', async ({ cluster }) => {
    await cluster.kill()
    await sleep(5_000)
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
  passing('a database that ends its connections', async ({ cluster }) => {
    for (let times = 0; times < 20; times += 1) {
      await cluster.run(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'holt' AND random() < 0.5`,
      )
      await sleep(250)
    }
  }),
]

/** Returns a fault of the object store. The other hosts cannot give the victim's copies away. */
function ofStore(behaviour: StoreBehaviour): FleetFault {
  return {
    name: `a store that ${behaviour}`,
    isJudged: false,
    begin: async (fleet, victim) => {
      await fleet.network.isolate(victim.place, others(fleet, victim))
      await fleet.objects.behave?.(behaviour)
      await sleep(whileMs)
    },
    end: async ({ network, objects }) => {
      await objects.behave?.('works')
      await network.heal()
    },
  }
}

const ofTheStore = (['is away', 'is slow', 'answers 503 to half', 'is full', 'flips a bit'] as const).map(ofStore)

/** Returns the faults that a fleet can have. A directory does not misbehave. */
export function faultsOf({ objects }: Fleet): readonly FleetFault[] {
  return [...ofTheNetwork, ...ofTheDaemon, ...ofTheDatabase, ...(objects.behave === null ? [] : ofTheStore)]
}
