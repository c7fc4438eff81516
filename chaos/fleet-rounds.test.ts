import { byLength, Chance } from '@holt/testkit'
import { expect, it } from 'vitest'
import { service } from '../e2e/support/facts.ts'
import type { FleetHost } from '../e2e/support/fleet/fleet-host.ts'
import { type Fleet, startFleet } from '../e2e/support/fleet/start-fleet.ts'
import { until } from '../e2e/support/until.ts'
import { hasPostgres } from '../packages/server/test/support/postgres-cluster.ts'
import { type FleetFault, faults } from './support/fleet/faults.ts'
import { askHost, mustAsk, startSpeaking, stateOf } from './support/fleet/fleet-client.ts'
import { Voices } from './support/fleet/voices.ts'
import { recordResult } from './support/record-result.ts'

// Real daemons, each in a network of its own. Every runtime sends to a receiver outside. That hears
// it through one host at a time, and never after a client was told that the runtime has ended.

const rounds = byLength({ short: 1, long: 100, soak: 300 })

/** Time for a round on a slow machine: a verdict takes half a minute. */
const roundMs = 180_000

const runtimesPath = '/v1/agents/runtime'

/** The states of a runtime in which its host works on it. */
const passing = ['starting', 'pausing', 'resuming', 'terminating']

/** The runtimes of a round, with the host of each. */
type Speakers = ReadonlyMap<string, FleetHost>

async function startSpeakers({ hosts }: Fleet, voices: Voices, chance: Chance): Promise<Speakers> {
  const isolation = chance.pick((['gvisor', 'container'] as const).filter((one) => service.unavailable[one] === null))
  const speakers = new Map<string, FleetHost>()
  for (const host of hosts) speakers.set(await startSpeaking(host, isolation), host)
  for (const id of speakers.keys()) await until(`${id} is heard`, async () => voices.count(id) > 2)
  return speakers
}

/** Waits until the others have told that the runtimes of a host have failed with it. */
async function verdictTold({ hosts }: Fleet, victim: FleetHost, voices: Voices, speakers: Speakers): Promise<void> {
  const tellers = hosts.filter((host) => host !== victim)
  for (const [id, owner] of speakers) {
    if (owner !== victim) continue
    await until(
      `${id} has failed with its host`,
      async () => {
        for (const teller of tellers) {
          const told = await stateOf(teller, id)
          if (told?.state !== 'failed') continue
          expect(told.reason).toBe('host_lost')
          voices.noteEnd(id, `${teller.place} told that it has failed`)
          return true
        }
        return false
      },
      120_000,
    )
  }
}

/** Returns true if a host is ready and heard of. */
function isHeardReady({ fleet }: { readonly fleet: { readonly state: string; readonly silent_secs: number | null } }) {
  return fleet.state === 'ready' && fleet.silent_secs === null
}

/** Waits until the fleet is healed: all hosts are ready, and each runtime answers through each. */
async function atRest({ hosts }: Fleet, speakers: Speakers, lost: FleetHost | null): Promise<void> {
  for (const host of hosts) {
    const states = async () => {
      const listed = await askHost(host, 'GET', '/v1/agents/host')
      return listed?.status === 200 && listed.json.data.every(isHeardReady)
    }
    await until(`${host.place} sees only ready hosts`, states, 60_000)
  }
  for (const [id, owner] of speakers)
    for (const host of hosts) {
      const told = await until(`${host.place} tells a lasting state of ${id}`, async () => {
        const one = await stateOf(host, id)
        return one === null || passing.includes(one.state) ? null : one
      })
      expect([id, told.state]).toEqual([id, owner === lost ? 'failed' : 'running'])
      if (owner === lost) continue
      await until(`${id} answers through ${host.place}`, async () => {
        const ran = await askHost(host, 'POST', `${runtimesPath}/${id}/commands`, { argv: ['echo', id] })
        return ran?.status === 200 && ran.json.stdout === `${id}\n`
      })
    }
}

/** Removes the runtimes, each through a random host. They are silent from the answer on. */
async function removeSpeakers({ hosts }: Fleet, voices: Voices, speakers: Speakers, chance: Chance): Promise<void> {
  for (const id of speakers.keys()) {
    await mustAsk(chance.pick(hosts), 'DELETE', `${runtimesPath}/${id}`)
    voices.noteEnd(id, 'it was deleted')
  }
}

/** Makes a fault, waits for what follows, repairs the fleet, and checks it. */
async function round(fleet: Fleet, fault: FleetFault, chance: Chance): Promise<void> {
  const voices = new Voices(fleet.outside)
  const speakers = await startSpeakers(fleet, voices, chance)
  const victim = chance.pick(fleet.hosts)
  try {
    await fault.begin(fleet, victim)
    if (fault.isJudged) await verdictTold(fleet, victim, voices, speakers)
  } finally {
    await fault.end(fleet, victim)
  }
  if (fault.isJudged) {
    // Its next beat tells the daemon of the verdict. Its manager would start it again.
    await victim.ended()
    await victim.start()
  }
  await atRest(fleet, speakers, fault.isJudged ? victim : null)
  await removeSpeakers(fleet, voices, speakers, chance)
  expect(voices.faults([...speakers.keys()])).toEqual([])
}

it.skipIf(!hasPostgres() || (service.unavailable.gvisor !== null && service.unavailable.container !== null))(
  'a runtime is heard through one host at a time, and never after its end was told',
  async () => {
    const chance = new Chance()
    await using fleet = await startFleet(3)
    const seen: string[] = []
    const first = chance.below(faults.length)
    for (let count = 1; count <= rounds; count += 1) {
      // In turn, so that a long run has each of them.
      const fault = faults[(first + count) % faults.length] as FleetFault
      try {
        await round(fleet, fault, chance)
      } catch (cause) {
        const logs = fleet.hosts.map((host) => `${host.place}:\n${host.log(15)}`).join('\n')
        const message = cause instanceof Error ? cause.message : String(cause)
        throw new Error(`round ${count}, ${fault.name}, after ${seen.join(', ')}: ${message}\n${logs}`, { cause })
      }
      seen.push(fault.name)
    }
    recordResult('fleet-rounds', { rounds, seed: chance.seed })
  },
  rounds * roundMs + 300_000,
)
