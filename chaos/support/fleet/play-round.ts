import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { service } from '../../../e2e/support/facts.ts'
import type { FleetHost } from '../../../e2e/support/fleet/fleet-host.ts'
import { ownerOf } from '../../../e2e/support/fleet/use-fleet.ts'
import { until } from '../../../e2e/support/until.ts'
import { checkBooks } from '../../../packages/server/test/support/rounds/check-books.ts'
import { RoundsClient } from '../../../packages/server/test/support/rounds/rounds-client.ts'
import { RoundsLedger } from '../../../packages/server/test/support/rounds/rounds-ledger.ts'
import { atRest } from './at-rest.ts'
import { entryOf } from './entry-of.ts'
import type { FleetFault } from './faults.ts'
import { mustAsk, startSpeaking, stateOf } from './fleet-client.ts'
import { Revoker } from './revoker.ts'
import { type RoundsWorld, roundsTimes } from './rounds-world.ts'
import { restoreSnapshot, type Sleeper, startSleeper, tryToWake, wake } from './sleeper.ts'
import { checkObjects } from './stored-objects.ts'
import { Voices } from './voices.ts'

const runtimesPath = '/v1/agents/runtime'

/** The number of clients that change things of the project. */
const clients = 2

/**
 * The least time between the beginning of a silence and its verdict, in milliseconds: the last beat
 * may have been up to 5 s before.
 */
const leastVerdictMs = Number(roundsTimes.HOLT_FLEET_VERDICT) * 1_000 - 5_000

/** From this time after a cut on, creates at the other hosts succeed, in milliseconds. */
const availableMs = 20_000

/** One round: what happens in it, and what is known of it. */
interface Round {
  readonly world: RoundsWorld
  readonly fault: FleetFault
  readonly victim: FleetHost
  readonly isolation: string
  readonly voices: Voices
  /** The runtimes that speak, with the host of each. */
  readonly speakers: ReadonlyMap<string, FleetHost>
  readonly sleeper: Sleeper
}

/**
 * Makes a fault while clients work, waits for what follows, repairs the fleet, and checks
 * everything that holds then.
 */
export async function playRound(world: RoundsWorld, fault: FleetFault): Promise<void> {
  const round = await beginRound(world, fault)
  const { voices, speakers, sleeper, victim } = round
  const ledger = new RoundsLedger()
  await using working = startClients(world, ledger)
  const begunAt = performance.now()
  try {
    await fault.begin(world.fleet, victim)
    if (fault.isJudged) await whileJudged(round, begunAt)
    else await tryToWake(world.chance.pick(others(round)), sleeper)
  } finally {
    await fault.end(world.fleet, victim)
  }
  if (fault.isJudged) {
    // Its next beat tells the daemon of the verdict. Its manager would start it again.
    await victim.ended()
    await victim.start()
  }
  await working.stop()
  await atRest(world.fleet, speakers, fault.isJudged ? victim : null)
  await wake(world.chance.pick(world.fleet.hosts), sleeper)
  world.figures.woken += 1
  await restoreSnapshot(world.chance.pick(world.fleet.hosts), sleeper)
  const judged = new Set(fault.isJudged ? [victim.hostId] : [])
  const rows = await checkBooks({ fleet: world.checked, ledger, judged, events: world.events })
  world.figures.acknowledged += ledger.acknowledged
  await checkObjects(world.fleet)
  const sent = world.events.slice(world.unsent)
  await world.webhook.has(sent)
  world.figures.sent = sent.length
  for (const id of [...speakers.keys(), sleeper.id]) {
    await mustAsk(world.chance.pick(world.fleet.hosts), 'DELETE', `${runtimesPath}/${id}`)
    voices.noteEnd(id, 'it was deleted')
  }
  for (const { runtime_id, ended_at } of rows) {
    if (ended_at === null) await removeFromProject(world, runtime_id)
    world.past.add(runtime_id)
  }
  const heard = [...speakers.keys(), sleeper.id]
  for (const id of heard) world.figures.voices += voices.count(id)
  expect(voices.faults(heard)).toEqual([])
  expect([...world.watch.faults, ...working.faults()]).toEqual([])
}

async function beginRound(world: RoundsWorld, fault: FleetFault): Promise<Round> {
  const { fleet, chance, canaries } = world
  const isolation = chance.pick((['gvisor', 'container'] as const).filter((one) => service.unavailable[one] === null))
  const voices = new Voices(fleet.outside)
  const speaking = fleet.hosts.map(async (host) => {
    const id = await startSpeaking(host, isolation)
    return [id, (await ownerOf(fleet, id)) ?? host] as const
  })
  const speakers = new Map(await Promise.all(speaking))
  // A verdict is told by what becomes of a runtime.
  const victim = chance.pick([...new Set(speakers.values())])
  const sleeper = await startSleeper(fleet, victim, { isolation: 'gvisor', text: canaries.file })
  for (const id of speakers.keys()) await until(`${id} is heard`, async () => voices.count(id) > 2)
  return { world, fault, victim, isolation, voices, speakers, sleeper }
}

function others({ world, victim }: Round): readonly FleetHost[] {
  return world.fleet.hosts.filter((host) => host !== victim)
}

/** Clients that work until they are stopped. */
interface Working extends AsyncDisposable {
  stop(): Promise<void>
  /** Returns the faults that clients have seen. */
  faults(): readonly string[]
}

function startClients({ fleet, key, chance, figures }: RoundsWorld, ledger: RoundsLedger): Working {
  const over = new AbortController()
  const settings = { timeout_secs: null }
  const hosts = fleet.hosts.map((host) => entryOf(host, key))
  const own = Array.from(
    { length: clients },
    (_, at) => new RoundsClient(`client-${at}`, { fleet: { hosts }, ledger, chance, settings }),
  )
  const revoker = new Revoker(fleet.hosts, { key, chance })
  const repeat = async (work: () => Promise<void>) => {
    while (!over.signal.aborted) await work()
  }
  const all = Promise.all([...own.map((client) => repeat(() => client.work(1))), repeat(() => revoker.work())])
  all.catch(() => undefined) // `stop` tells of it.
  const stop = async () => {
    over.abort()
    await all
    figures.revoked += revoker.revoked
  }
  return {
    stop,
    faults: () => revoker.faults,
    [Symbol.asyncDispose]: async () => {
      over.abort()
      await all.catch(() => undefined) // The round has failed already, or `stop` has told of it.
    },
  }
}

/** Follows what the others do while a host is silent: creates, the verdict, and the sleeper. */
async function whileJudged(round: Round, begunAt: number): Promise<void> {
  await sleep(Math.max(0, begunAt + availableMs - performance.now()))
  for (const host of others(round)) {
    const settings = { isolation: round.isolation, timeout_secs: null }
    const { runtime_id } = await mustAsk(host, 'POST', runtimesPath, settings)
    await mustAsk(host, 'DELETE', `${runtimesPath}/${runtime_id}`)
  }
  await verdictTold(round, begunAt)
  // The store has it: another host gives it back.
  await wake(round.world.chance.pick(others(round)), round.sleeper)
}

/** Waits until the others have told that the runtimes of the victim have failed with it. */
async function verdictTold(round: Round, begunAt: number): Promise<void> {
  const { victim, voices, speakers } = round
  for (const [id, owner] of speakers) {
    if (owner !== victim) continue
    await until(
      `${id} has failed with its host`,
      async () => {
        for (const teller of others(round)) {
          const told = await stateOf(teller, id)
          if (told?.state !== 'failed') continue
          expect(told.reason).toBe('host_lost')
          voices.noteEnd(id, `${teller.place} told that it has failed`)
          expect(performance.now() - begunAt, 'a verdict takes its time').toBeGreaterThan(leastVerdictMs)
          return true
        }
        return false
      },
      120_000,
    )
  }
}

/** Removes a runtime of the clients' project through a random host. */
async function removeFromProject({ checked, chance }: RoundsWorld, id: string): Promise<void> {
  await until(`${id} is removed`, async () => {
    const { status } = await chance.pick(checked.hosts).server.ask('DELETE', `${runtimesPath}/${id}`)
    return status === 204 || status === 404
  })
}
