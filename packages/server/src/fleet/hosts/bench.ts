import { isJudged } from '../../foundation/host/host-row.ts'
import type { Log } from '../../foundation/log.ts'
import type { Store } from '../../foundation/store/open-store.ts'
import type { HostRow } from '../../foundation/store/tables.ts'
import type { HostReason } from '../../tenancy/events/record-host-event.ts'
import type { HostLease } from '../lease/host-lease.ts'
import type { FleetMetrics } from '../metrics/fleet-metrics.ts'
import { removeLeft } from './left-fronts.ts'
import type { SeenHosts } from './seen-hosts.ts'
import { carryOut, passVerdict } from './verdict.ts'

/**
 * The time for which a verdict is carried out again after nothing was left, in milliseconds. An
 * insert of the judged epoch may have been on its way.
 */
const quietMs = 60_000

interface BenchOptions {
  readonly store: Store
  readonly lease: HostLease
  readonly hosts: SeenHosts
  readonly metrics: Pick<FleetMetrics, 'noteVerdict'>
  readonly log: Log
  readonly now: () => number
}

/** Returns why a host is lost that was silent for this time. */
function silentOf({ silentMs }: { readonly silentMs: number }): HostReason {
  return { code: 'silent', message: `It was silent for ${Math.round(silentMs / 1000)} s.` }
}

/** The judge of the fleet: passes verdicts against silent hosts, and carries them out. */
export class Bench {
  readonly #options: BenchOptions
  /** When each verdict had no rows left, by this host's `CLOCK_BOOTTIME`. */
  readonly #quietSince = new Map<string, number>()
  #hasWarned = false

  constructor(options: BenchOptions) {
    this.#options = options
  }

  /** Judges by the last read of the hosts. Rejects if the store cannot be used; it is repeated. */
  async sit(): Promise<void> {
    const { store, lease, hosts, metrics, log, now } = this.#options
    const { lost, suspects, tooMany } = hosts.opinion
    if (tooMany && !this.#hasWarned)
      log.error(
        { hosts: suspects.map(({ hostId }) => hostId) },
        'too many hosts are silent to believe it: none is lost',
      )
    this.#hasWarned = tooMany
    for (const host of lost) {
      if (host.hostId === lease.hostId || lease.fenced) continue
      if (!(await passVerdict({ store, now }, { ...host, reason: silentOf(host) }))) continue
      metrics.noteVerdict()
      log.error({ host_id: host.hostId, silent_ms: Math.round(host.silentMs) }, 'a host is lost')
    }
    if (lost.length > 0) await hosts.read()
    for (const row of hosts.rows) {
      if (isJudged(row)) await this.#carryOut(row)
      await removeLeft({ store, now }, row)
    }
  }

  async #carryOut(row: HostRow): Promise<void> {
    const { store, lease, now } = this.#options
    const verdict = `${row.host_id} ${row.epoch} ${row.state}`
    const at = lease.now().uptime
    const since = this.#quietSince.get(verdict)
    if (since !== undefined && at - since >= quietMs) return
    let isLeft = true
    while (isLeft && !lease.fenced) isLeft = await carryOut({ store, now }, row)
    if (since === undefined) this.#quietSince.set(verdict, at)
  }
}
