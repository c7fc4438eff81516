import type { FleetConfig } from '../../foundation/config/fleet-settings.ts'
import type { HostDirectory } from '../../foundation/host/host-directory.ts'
import { isJudged } from '../../foundation/host/host-row.ts'
import type { Store } from '../../foundation/store/open-store.ts'
import type { HostRow } from '../../foundation/store/tables.ts'
import { look, nothingSeen, type Opinion, type Watch } from '../lease/judge.ts'

interface SeenHostsOptions {
  readonly store: Store
  readonly uptime: () => number
  readonly times: FleetConfig
}

const noOpinion: Opinion = { suspects: [], lost: [], tooMany: false }

/** The hosts of the fleet, as this host sees them. Each host has an opinion about all others. */
export class SeenHosts implements HostDirectory {
  readonly #options: SeenHostsOptions
  #watch: Watch = nothingSeen
  #rows: readonly HostRow[] = []
  #opinion: Opinion = noOpinion

  constructor(options: SeenHostsOptions) {
    this.#options = options
  }

  get rows(): readonly HostRow[] {
    return this.#rows
  }

  /** The opinion after the last read. */
  get opinion(): Opinion {
    return this.#opinion
  }

  /** The current epochs of the hosts that are neither lost nor gone. */
  get epochs(): ReadonlyMap<string, number> {
    return new Map(this.#rows.filter((row) => !isJudged(row)).map(({ host_id, epoch }) => [host_id, epoch]))
  }

  silentMs(hostId: string): number | null {
    const suspect = this.#opinion.suspects.find((each) => each.hostId === hostId)
    if (suspect !== undefined) return suspect.silentMs
    const row = this.#rows.find((each) => each.host_id === hostId)
    return row === undefined || !isJudged(row) ? null : 0
  }

  /** Returns the ids of the hosts that have started and are not suspect, lost or gone. */
  answering(): readonly string[] {
    const ids = this.#rows.filter(({ state }) => state !== 'joining').map(({ host_id }) => host_id)
    return ids.filter((id) => this.silentMs(id) === null)
  }

  /** Reads the hosts, and looks at their beats. */
  async read(): Promise<void> {
    const { store, uptime, times } = this.#options
    const startedAt = uptime()
    const rows = await store.db.selectFrom('hosts').selectAll().orderBy('joined_at').orderBy('host_id').execute()
    const { watch, opinion } = look(this.#watch, { startedAt, endedAt: uptime(), rows }, times)
    this.#rows = rows
    this.#watch = watch
    this.#opinion = opinion
  }
}
