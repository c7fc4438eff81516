import type { KeptJoin } from '../../fleet/trust/worker-identity.ts'
import { canAccess } from '../../foundation/config/can-access.ts'
import type { ServerConfig } from '../../foundation/config/config.ts'
import { type Check, mustFix, ok } from './check.ts'

/** The settings of a worker that are checked. */
type WorkerConfig = Pick<ServerConfig, 'fleet' | 'stateDir'>

/** Returns what a worker keeps of its join. Null: it has not joined, or this host is no worker. */
export async function joinOf({ fleet, stateDir }: WorkerConfig): Promise<KeptJoin | null> {
  if (fleet?.role !== 'worker') return null
  const { readJoin } = await import('../../fleet/trust/worker-identity.ts')
  return readJoin(stateDir)
}

/** Checks that a worker is in its fleet, or can join it. Empty for another host. */
export async function checkWorker(
  { fleet }: WorkerConfig,
  { join, now }: { readonly join: KeptJoin | null; readonly now: number },
): Promise<readonly Check[]> {
  if (fleet?.role !== 'worker') return []
  const name = 'worker'
  const leftHours = join === null ? 0 : Math.floor((join.validUntil - now) / 3_600_000)
  if (join !== null && join.validUntil > now)
    return [ok(name, `it has joined the fleet, and its certificate is valid for ${leftHours} h`)]
  if (fleet.joinTokenFile !== null && (await canAccess(fleet.joinTokenFile)))
    return [ok(name, 'it joins the fleet at its next start')]
  const why = join === null ? 'it has not joined the fleet' : 'its certificate is over'
  return [
    mustFix(name, `${why}, and there is no token: make one with holt fleet token, and set HOLT_JOIN_TOKEN_FILE`, null),
  ]
}
