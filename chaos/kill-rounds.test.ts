import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { crash, restart } from '../e2e/support/crash.ts'
import { service } from '../e2e/support/facts.ts'
import { findService } from '../e2e/support/service-process.ts'
import { Chance } from './support/chance.ts'
import { Ledger } from './support/ledger.ts'
import { short } from './support/length.ts'
import { recordResult } from './support/record-result.ts'
import { Worker } from './support/worker.ts'

// The daemon is killed again and again while clients work: whatever it has acknowledged is so afterwards.

const rounds = short(5, 300)
const workers = 4

/** The longest that a daemon lives. */
const lifeMs = 3_000

/** What a round may take where the machine is slow: the start, and a look at every fact. */
const roundMs = 40_000

it.skipIf(service.unavailable.gvisor !== null && !process.env.CI)(
  'nothing that was acknowledged is lost by a kill -9',
  async () => {
    const chance = new Chance()
    console.log(`seed ${chance.seed}`)
    const ledger = new Ledger()
    // What an earlier run has left under its names is not this one's.
    const run = randomBytes(3).toString('hex')
    const clients = Array.from({ length: workers }, (_, index) => new Worker(`w${index}-${run}`, ledger, chance))
    const readyMs: number[] = []
    let verified = 0
    for (let round = 0; round < rounds; round += 1) {
      const stop = new AbortController()
      const working = clients.map((client) => client.work(stop.signal))
      await sleep(chance.below(lifeMs))
      await crash()
      stop.abort()
      await Promise.all(working)
      const before = performance.now()
      await restart()
      readyMs.push(performance.now() - before)
      for (const client of clients) await client.recover()
      try {
        verified += await ledger.verify()
      } catch (cause) {
        throw new Error(`seed ${chance.seed}, round ${round}: ${cause instanceof Error ? cause.message : cause}`, {
          cause,
        })
      }
      expect(clients.flatMap(({ surprises }) => surprises)).toEqual([])
      if ((round + 1) % 25 === 0) console.log(`${round + 1} rounds, ${ledger.acknowledged} acknowledged`)
    }
    expect(findService()).not.toBeNull()
    // A client that never gets an answer would lose nothing either.
    expect(ledger.acknowledged).toBeGreaterThan(rounds)
    await ledger.forgetSettings()
    readyMs.sort((one, other) => one - other)
    recordResult('kill-rounds', {
      rounds,
      acknowledged: ledger.acknowledged,
      verified,
      ready_p50_ms: Math.round(readyMs[Math.floor(rounds / 2)] ?? 0),
      ready_max_ms: Math.round(readyMs.at(-1) ?? 0),
      seed: chance.seed,
    })
  },
  rounds * roundMs,
)
