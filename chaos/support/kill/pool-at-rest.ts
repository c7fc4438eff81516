import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { service } from '../../../e2e/support/facts.ts'
import { sumOf } from '../../../e2e/support/metrics.ts'
import type { Settings } from '../../../e2e/support/service-process.ts'
import { until } from '../../../e2e/support/until.ts'
import type { Ledger } from './ledger.ts'

/** So many wait at the least, so that creates come out of the pool. */
const floor = 2

/** The service as users have it, with pools, as small as the workers are few. */
export const withPools: Settings = { HOLT_POOL_MIN: `${floor}`, HOLT_POOL_MAX: '4' }

/** To fill a pool, and to take away what a killed daemon was making, on a busy machine. */
const restMs = 120_000

/** Waits until a runtime waits in a pool. */
export async function poolHasOne(): Promise<void> {
  await until('a member waits', async () => (await sumOf('holt_pool_members', { state: 'ready' })) > 0, restMs)
}

/**
 * Expects that the machine comes to have the runtimes of the ledger, those that wait in a pool, and
 * no other: what a killed daemon was making is gone.
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
