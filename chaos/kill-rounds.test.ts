import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { byLength } from '@holt/testkit'
import { expect, it } from 'vitest'
import { crash, restart, restartWith } from '../e2e/support/crash.ts'
import { service } from '../e2e/support/facts.ts'
import { listBelongings } from '../e2e/support/leaks.ts'
import { nothingLeft } from '../e2e/support/lifecycle/states.ts'
import { sumOf } from '../e2e/support/metrics.ts'
import { removeAll } from '../e2e/support/remove-all.ts'
import { findService } from '../e2e/support/service-process.ts'
import { until } from '../e2e/support/until.ts'
import { Chance } from './support/chance.ts'
import { askWith } from './support/kill/ask.ts'
import { checkLedger } from './support/kill/check-ledger.ts'
import { buildToItsEnd, endProject, restoreSnapshots } from './support/kill/end-project.ts'
import { EventLog } from './support/kill/event-log.ts'
import { Ledger } from './support/kill/ledger.ts'
import { nothingBesidesPool, poolHasOne, withPools } from './support/kill/pool-at-rest.ts'
import { Receiver, toLoopback } from './support/kill/receiver.ts'
import { Worker } from './support/kill/worker.ts'
import { makeProject } from './support/own-project.ts'
import { recordResult } from './support/record-result.ts'

// The daemon is killed repeatedly while clients work. Afterwards everything it acknowledged is
// there, and nothing else. All of it is in one project, whose lists are compared as a whole.

const rounds = byLength({ short: 2, long: 5, soak: 300 })
const workers = 4

/** The longest life of a daemon. */
const lifeMs = 3_000

/** The number of rounds after which paused runtimes are also checked, and the pool is awaited. */
const roundsPerFullCheck = 5

/** Time for a round on a slow machine: the start, and a check of every fact. */
const roundMs = 60_000

const hasPoolHit = async () => (await sumOf('holt_pool_hits_total')) > 0

const settings = { ...withPools, ...toLoopback }

it.skipIf(service.unavailable.gvisor !== null && !process.env.CI)(
  'a kill -9 loses nothing that was acknowledged, and leaves nothing else',
  async () => {
    const before = listBelongings(service)
    const chance = new Chance()
    // Names of this run differ from those of earlier runs.
    const run = randomBytes(3).toString('hex')
    const { projectId, key } = await makeProject(`kill-rounds-${run}`)
    const ask = askWith(key)
    const ledger = new Ledger()
    const log = new EventLog(ask)
    const clients = Array.from(
      { length: workers },
      (_, index) => new Worker(`w${index}-${run}`, { ask, ledger, chance }),
    )
    const readyMs: number[] = []
    let verified = 0
    let pooled = 0
    let isOver = false
    try {
      await restartWith(settings)
      await poolHasOne()
      await using receiver = await Receiver.begin(ask, log)
      for (let round = 0; round < rounds; round += 1) {
        const stop = new AbortController()
        const working = clients.map((client) => client.work(stop.signal))
        await sleep(chance.below(lifeMs))
        // A short life may end before any answer. Two rounds wait for events that the test needs.
        if (round === 0) await until('a create is met by a pool', hasPoolHit, roundMs)
        if (round === rounds - 1) await until('clients got answers', async () => ledger.acknowledged > rounds, roundMs)
        pooled += await sumOf('holt_pool_hits_total')
        expect(clients.filter(({ isLost }) => isLost)).toEqual([])
        await crash()
        stop.abort()
        await Promise.all(working)
        const begunAt = performance.now()
        await restart(settings)
        readyMs.push(performance.now() - begunAt)
        const full = (round + 1) % roundsPerFullCheck === 0 || round === rounds - 1
        try {
          for (const client of clients) await client.recover()
          verified += await checkLedger({ ask, ledger, log, wake: full })
          if (full) await nothingBesidesPool(ledger)
        } catch (cause) {
          throw new Error(`round ${round}: ${cause instanceof Error ? cause.message : cause}`, {
            cause,
          })
        }
        expect(clients.flatMap(({ surprises }) => surprises)).toEqual([])
        if ((round + 1) % 25 === 0) console.log(`${round + 1} rounds, ${ledger.acknowledged} acknowledged`)
      }
      expect(findService()).not.toBeNull()
      // A client that never gets an answer would lose nothing either.
      expect(ledger.acknowledged).toBeGreaterThan(rounds)
      expect(pooled).toBeGreaterThan(0)
      const restored = await restoreSnapshots(ask, ledger)
      await buildToItsEnd(ask, `${clients[0]?.name}`)
      await log.read()
      await log.readAgain()
      const received = await receiver.check(log)
      await receiver.end()
      await endProject(ask, projectId, ledger)
      isOver = true
      readyMs.sort((one, other) => one - other)
      recordResult('kill-rounds', {
        rounds,
        acknowledged: ledger.acknowledged,
        verified,
        pooled,
        restored,
        received,
        events: log.events.length,
        ready_p50_ms: Math.round(readyMs[Math.floor(rounds / 2)] ?? 0),
        ready_max_ms: Math.round(readyMs.at(-1) ?? 0),
        seed: chance.seed,
      })
    } finally {
      // Without pools, where waiting runtimes are gone. Only its own key sees leftovers of failures
      // in the project.
      await restartWith({})
      if (!isOver) await removeAll({ url: service.url, key })
    }
    await nothingLeft(before)
  },
  rounds * roundMs + 600_000,
)
