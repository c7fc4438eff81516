import { Semaphore } from '@holt/async'
import type { Builds } from '../../builds/builds.ts'
import { isOwn } from '../../foundation/host/require-own.ts'
import { refOf } from '../../foundation/rows/find-runtime.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import { Attempts } from '../../runtimes/lifecycle/attempts.ts'
import type { Reason } from '../../runtimes/state/change-state.ts'
import { endRuntime } from '../../runtimes/state/end-runtime.ts'
import { canMove } from './can-move.ts'
import { beginDrain, endDrain, findLeft } from './end-drain.ts'
import { moveAway, PauseFailed, type ResumeElsewhere } from './move-away.ts'

/** The reason of a runtime that could not move, and whose host was emptied. */
const drained: Reason = {
  code: 'host_drained',
  message: 'Its host was emptied, and it could not move to another one.',
}

/** The runtimes that are moved at once. */
const atOnce = 8

/**
 * Empties this host while an operator wants that: moves its running runtimes, and gives back its
 * pools. When the deadline is over, it ends builds and the runtimes that cannot be paused. Paused
 * runtimes leave by themselves (`Releases`). Everything is repeated by each look, so a restart of
 * the service forgets nothing.
 */
export class Drain {
  readonly #service: Builds
  readonly #resumeElsewhere: ResumeElsewhere
  readonly #attempts: Attempts
  readonly #turns = new Semaphore(atOnce)

  constructor(service: Builds, resumeElsewhere: ResumeElsewhere) {
    this.#service = service
    this.#resumeElsewhere = resumeElsewhere
    this.#attempts = new Attempts(service.monotonic)
  }

  /** Looks at what is left. Does not wait for moves. */
  async look(): Promise<void> {
    const { hosts, thisHost, leaving, pools } = this.#service
    const own = hosts.rows.find(({ host_id }) => host_id === thisHost.hostId)
    if (own === undefined) return
    leaving.isDraining = own.state === 'draining'
    pools.isSuspended = own.state === 'draining' || own.state === 'cordoned'
    if (!leaving.isDraining) return this.#forget()
    if (own.drain_until === null) await beginDrain(this.#service)
    const { links, now } = this.#service
    const isLate = own.drain_until !== null && own.drain_until <= now()
    if (isLate) await this.#service.builds.stopAll('host_drained')
    const rows = await this.#rows()
    if (rows.length === 0 && (await this.#isEmptied())) return endDrain(this.#service)
    this.#note(rows)
    const running = rows.filter(({ state }) => state === 'running')
    const order = (row: RuntimeRow) => links.activity(row.runtime_id)
    // Unused ones come first: their clients notice nothing.
    running.sort((one, other) => order(one).open - order(other).open || order(one).lastUsedAt - order(other).lastUsedAt)
    for (const row of running)
      this.#attempts.begin(
        { id: row.runtime_id, what: 'drain' },
        () => this.#leave(row, isLate),
        (err) => {
          leaving.stuck.set(row.runtime_id, reasonOf(err))
          this.#service.log.warn({ err, runtime_id: row.runtime_id }, 'a runtime could not leave this host yet')
        },
      )
    this.#attempts.keep(new Set(rows.map(({ runtime_id }) => runtime_id)))
  }

  /** Notes the runtimes that are left, and forgets the others. */
  #note(rows: readonly RuntimeRow[]): void {
    const { leaving } = this.#service
    const states = Map.groupBy(rows, ({ state }) => state)
    if (rows.length > 0) leaving.left = [...states].map(([state, some]) => `${some.length} ${state} runtimes`)
    const ids = new Set(rows.map(({ runtime_id }) => runtime_id))
    for (const id of leaving.stuck.keys()) if (!ids.has(id)) leaving.stuck.delete(id)
  }

  #forget(): void {
    const { leaving } = this.#service
    leaving.left = []
    leaving.stuck.clear()
  }

  async #isEmptied(): Promise<boolean> {
    const { leaving } = this.#service
    leaving.stuck.clear()
    leaving.left = ['files that are not stored yet']
    leaving.left = await findLeft(this.#service)
    return leaving.left.length === 0
  }

  async #rows(): Promise<RuntimeRow[]> {
    const { store, thisHost } = this.#service
    return store.db
      .selectFrom('runtimes')
      .selectAll()
      .where('host_id', '=', thisHost.hostId)
      .where('ended_at', 'is', null)
      .execute()
  }

  async #leave(row: RuntimeRow, isLate: boolean): Promise<void> {
    const service = this.#service
    const still = (now: RuntimeRow) => service.leaving.isDraining && isOwn(service, now)
    if (!(await canMove(service, row))) {
      if (isLate) await endRuntime(service, refOf(row), { reason: drained, still })
      return
    }
    try {
      await this.#turns.run(
        () => moveAway(service, row, { still, resumeElsewhere: this.#resumeElsewhere }),
        service.closing,
      )
    } catch (error) {
      // Its memory stays if only the object store is away.
      if (!isLate || !(error instanceof PauseFailed) || service.closing.aborted) throw error
      await endRuntime(service, refOf(row), { reason: drained, still })
    }
  }
}

/** Returns the text that operators read about a runtime that is left. */
function reasonOf(error: unknown): string {
  const cause = error instanceof PauseFailed ? error.cause : error
  return cause instanceof Error ? cause.message : 'no reason is known'
}
