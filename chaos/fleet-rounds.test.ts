import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Chance, roundsOf } from '@holt/testkit'
import { expect, it } from 'vitest'
import { service } from '../e2e/support/facts.ts'
import { startFleet } from '../e2e/support/fleet/start-fleet.ts'
import { hasGateway } from '../packages/object-store/test/support/versitygw.ts'
import { hasPostgres } from '../packages/server/test/support/postgres-cluster.ts'
import { nothingLeft } from './support/fleet/at-rest.ts'
import { foundCanaries } from './support/fleet/canaries.ts'
import { type FleetFault, faultsOf } from './support/fleet/faults.ts'
import { playRound } from './support/fleet/play-round.ts'
import { makeWorld, roundsTimes } from './support/fleet/rounds-world.ts'
import { recordResult, resultsFile } from './support/record-result.ts'

// Real daemons, each in a network of its own, over one PostgreSQL and one object store. Clients
// work on all hosts while one of the parts fails. Afterwards every acknowledged change is there. A
// receiver outside hears each runtime through one host at a time, and never after its end was told.

const rounds = roundsOf({ short: 0, long: 100, soak: 300 })

/** The faults of this run, by a pattern of their names. Default: all. */
const wanted = new RegExp(process.env.HOLT_TEST_FAULT ?? '')

/** Time for a round on a slow machine: a verdict takes half a minute. */
const roundMs = 300_000

it.skipIf(rounds === 0 || !hasPostgres() || service.unavailable.gvisor !== null)(
  'a fleet keeps every acknowledged change, and one voice for each runtime',
  async () => {
    const chance = new Chance()
    const settings = { ...roundsTimes, HOLT_ARTIFACT_KEY: '5a'.repeat(32) }
    await using fleet = await startFleet(3, hasGateway() ? 'S3' : 'a directory', settings)
    await using world = await makeWorld(fleet, chance)
    const seen: string[] = []
    const faults = faultsOf(fleet).filter(({ name }) => wanted.test(name))
    if (faults.length === 0) throw new Error(`HOLT_TEST_FAULT is "${wanted.source}", which names no fault`)
    const first = chance.below(faults.length)
    for (let count = 1; count <= rounds; count += 1) {
      // In turn, so that a long run has each of them.
      const fault = faults[(first + count) % faults.length] as FleetFault
      const begunAt = performance.now()
      try {
        await playRound(world, fault)
        expect(await foundCanaries(fleet, world.canaries)).toEqual([])
      } catch (cause) {
        for (const host of fleet.hosts)
          writeFileSync(join(dirname(resultsFile), `${host.place}.log`), host.log(Number.POSITIVE_INFINITY))
        const logs = fleet.hosts.map((host) => `${host.place}:\n${host.log(15)}`).join('\n')
        const message = cause instanceof Error ? cause.message : String(cause)
        throw new Error(`round ${count}, ${fault.name}, after ${seen.join(', ')}: ${message}\n${logs}`, { cause })
      }
      seen.push(fault.name)
      recordResult('fleet-round', {
        fault: fault.name,
        seed: chance.seed,
        count,
        ms: Math.round(performance.now() - begunAt),
      })
    }
    await nothingLeft(world.before)
    expect(world.watch.seen.looks).toBeGreaterThan(rounds)
    expect(world.figures.acknowledged).toBeGreaterThan(rounds)
    recordResult('fleet-rounds', { rounds, seed: chance.seed, ...world.figures, ...world.watch.seen })
  },
  rounds * roundMs + 300_000,
)
