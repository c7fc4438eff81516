import { Chance, roundsOf } from '@holt/testkit'
import { describe, expect, test } from 'vitest'
import { hasPostgres } from '../../support/postgres-cluster.ts'
import type { KnownEvent } from '../../support/rounds/check-books.ts'
import { checkRound, checkVoices } from '../../support/rounds/check-rounds.ts'
import { RoundsClient, sharedPolicy } from '../../support/rounds/rounds-client.ts'
import { RoundsFleet } from '../../support/rounds/rounds-fleet.ts'
import { RoundsLedger } from '../../support/rounds/rounds-ledger.ts'

// Clients work on all hosts while one host is cut off or starts again. Afterwards every
// acknowledged change is there, on every host, and nothing else.

const rounds = roundsOf({ short: 3, long: 100, soak: 500 })

/** Time for a round on a busy machine. */
const roundMs = 60_000

/** The changes of a client in each half of a round. */
const changes = 3

/**
 * The faults, with the time for which a host is cut off. After 15 s it is suspect, after 240 s it
 * fences itself, and after 300 s it is lost.
 */
const faults = [
  { name: 'restart', cutMs: null },
  { name: 'short cut', cutMs: 8_000 },
  { name: 'suspect', cutMs: 48_000 },
  { name: 'fenced', cutMs: 256_000 },
  { name: 'lost', cutMs: 336_000 },
] as const

/** From this time after a cut on, creates at the other hosts succeed. */
const availableMs = 24_000

interface World {
  readonly fleet: RoundsFleet
  readonly ledger: RoundsLedger
  readonly clients: readonly RoundsClient[]
  readonly judged: Set<string>
  readonly events: KnownEvent[]
}

async function begin(chance: Chance): Promise<World> {
  const fleet = await RoundsFleet.start(3)
  const ledger = new RoundsLedger()
  const [first] = fleet.hosts
  const made = await first?.server.ask('POST', '/v1/agents/network-policy', {
    json: { name: sharedPolicy.split('/').at(-1), allow: [{ host: 'first.example' }] },
  })
  expect(made?.status, made?.text).toBe(201)
  const clients = ['a', 'b', 'c'].map(
    (name) => new RoundsClient(name, { fleet, ledger, chance: new Chance(chance.below(2 ** 32)) }),
  )
  return { fleet, ledger, clients, judged: new Set(), events: [] }
}

/** Makes a fault while clients work, ends it, and checks the books. Returns its name. */
async function round(world: World, chance: Chance): Promise<string> {
  const { fleet, ledger, clients, judged } = world
  const { name, cutMs } = chance.pick(faults)
  const victim = chance.pick(fleet.hosts)
  await Promise.all(clients.map((client) => client.work(changes)))
  const working = Promise.all(clients.map((client) => client.work(changes)))
  if (cutMs === null) await Promise.all([fleet.restart(victim), working])
  else {
    fleet.cut(victim)
    for (let cut = 0; cut < cutMs; cut += 8_000) {
      await fleet.pass(8_000)
      await checkVoices(fleet)
      if (cut + 8_000 === availableMs) await checkAvailable(fleet, ledger)
    }
    if (name === 'lost') judged.add(victim.hostId)
    await working
    await fleet.heal()
  }
  await checkRound(world)
  return name
}

/** Checks that the hosts that are not cut off make runtimes. */
async function checkAvailable(fleet: RoundsFleet, ledger: RoundsLedger): Promise<void> {
  for (const { server } of fleet.connected) {
    const made = await server.ask('POST', '/v1/agents/runtime', { json: {} })
    expect(made.status, made.text).toBe(201)
    ledger.addRuntime(made.json.runtime_id)
  }
}

describe.skipIf(!hasPostgres())('a fleet whose hosts fail', () => {
  test(
    'keeps every acknowledged change, and tells it on every host',
    async () => {
      const chance = new Chance()
      const world = await begin(chance)
      const seen: string[] = []
      for (let count = 1; count <= rounds; count += 1) {
        try {
          seen.push(await round(world, chance))
        } catch (cause) {
          const message = cause instanceof Error ? cause.message : String(cause)
          throw new Error(`round ${count} after ${seen.join(', ')}: ${message}`, { cause })
        }
      }
      const { acknowledged } = world.ledger
      expect(acknowledged).toBeGreaterThan(rounds)
      const counts = Object.entries(Object.groupBy(seen, (name) => name)).map(([name, all = []]) => [name, all.length])
      console.log(JSON.stringify({ rounds, seed: chance.seed, acknowledged, faults: Object.fromEntries(counts) }))
    },
    rounds * roundMs,
  )
})
