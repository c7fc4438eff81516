import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { service } from '../../../e2e/support/facts.ts'
import { sumOf } from '../../../e2e/support/metrics.ts'
import type { Settings } from '../../../e2e/support/service-process.ts'
import { until } from '../../../e2e/support/until.ts'
import type { Ledger } from './ledger.ts'

/** The minimal size of a pool, so that creates use it. */
const floor = 2

/** The settings of a service with pools. They are small, because there are few workers. */
export const withPools: Settings = { HOLT_POOL_MIN: `${floor}`, HOLT_POOL_MAX: '4' }

/**
 * The timeout for filling a pool, and for removing the unfinished runtimes of a killed daemon, on a
 * busy machine.
 */
const restMs = 120_000

/** Waits until a pool has a runtime. */
export async function poolHasOne(): Promise<void> {
  await until('a member waits', async () => (await sumOf('holt_pool_members', { state: 'ready' })) > 0, restMs)
}

/**
 * Waits until the machine has only the runtimes of the ledger and those in a pool. The unfinished
 * runtimes of a killed daemon must be removed.
 */
export async function nothingBesidesPool(ledger: Ledger): Promise<void> {
  const owned = new Set(
    [...ledger.runtimes.values()].flatMap(({ id, state }) => (state.isKnown('terminated') ? [] : [id])),
  )
  let found: readonly string[] = []
  let members = Number.NaN
  await until(
    'what exists is what waits',
    async () => {
      found = readdirSync(join(service.stateDir, 'runtimes')).filter((id) => !owned.has(id))
      members = await sumOf('holt_pool_members')
      const ready = await sumOf('holt_pool_members', { state: 'ready' })
      return ready >= floor && members === ready && found.length === ready
    },
    restMs,
  ).catch((cause: unknown) => {
    throw new Error(`${members} members, and beside what is known there are ${found.join(' ')}`, { cause })
  })
}
