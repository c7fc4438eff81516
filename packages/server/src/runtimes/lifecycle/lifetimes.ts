import type { RuntimeRow } from '../../foundation/store/tables.ts'
import type { Runtimes } from '../runtimes.ts'
import { endRuntime } from '../state/end-runtime.ts'
import { failRuntime, startInterrupted } from '../state/fail-runtime.ts'
import { Attempts } from './attempts.ts'
import type { ClockWatch } from './clock-watch.ts'
import { forgetEnded } from './forget-ended.ts'
import { IdleWatch } from './idle-watch.ts'
import { pauseAsSet } from './pause-as-set.ts'
import { pauseReasons } from './pause-runtime.ts'
import { recoverPause } from './recover-pause.ts'

/** The time, in milliseconds, after which an unfinished transition counts as abandoned. */
const graceMs = 1_000

/**
 * The age at which a `starting` row without a process is given up, in milliseconds. It is longer
 * than any sync of a disk.
 */
const startGraceMs = 60_000

/** The number of looks between two removals of ended runtimes from memory. */
const looksPerForgetting = 60

/**
 * Enforces the lifetimes of runtimes. Pauses or ends overdue ones, pauses idle ones, and completes
 * interrupted transitions.
 */
export class Lifetimes {
  readonly #service: Runtimes
  readonly #clock: ClockWatch
  readonly #idle: IdleWatch
  readonly #attempts: Attempts
  #looks = 0

  constructor(service: Runtimes, clock: ClockWatch) {
    this.#service = service
    this.#clock = clock
    this.#idle = new IdleWatch(service)
    this.#attempts = new Attempts(service.monotonic)
  }

  /**
   * Checks every runtime once. Does not wait for slow actions, and retries failed ones at a later
   * check.
   */
  async look(): Promise<void> {
    await this.#clock.look()
    const { thisHost, store } = this.#service
    const { db } = store
    const at = this.#service.now()
    const live = await db
      .selectFrom('runtimes')
      .selectAll()
      .where('host_id', '=', thisHost.hostId)
      .where('ended_at', 'is', null)
      .where('state', '!=', 'paused')
      .execute()
    const running = live.filter(({ state }) => state === 'running')
    for (const row of running) if (isOverdue(row, at)) this.#endOrPause(row)
    // The clock may have been set back since, so a time in the future is also old.
    for (const row of live)
      if (row.state !== 'running' && Math.abs(at - row.updated_at) >= graceOf(row)) this.#finish(row)
    this.#idle.look(running)
    this.#clock.note(live)
    const ids = new Set(live.map(({ runtime_id }) => runtime_id))
    this.#attempts.keep(ids)
    if (this.#looks % looksPerForgetting === 0) await forgetEnded(this.#service)
    this.#looks += 1
  }

  #endOrPause(row: RuntimeRow): void {
    const ref = { projectId: row.project_id, runtimeId: row.runtime_id }
    const still = (current: RuntimeRow) =>
      current.on_timeout === row.on_timeout && isOverdue(current, this.#service.now())
    const act = () =>
      row.on_timeout === 'pause'
        ? pauseAsSet(this.#service, row, pauseReasons.timeout, still)
        : endRuntime(this.#service, ref, { reason: pauseReasons.timeout, still })
    this.#begin(row, act)
  }

  /**
   * Completes a transition without a process: a failed removal, an interrupted pause or resume, or
   * an unknown start.
   */
  #finish(row: RuntimeRow): void {
    const { starts } = this.#service
    const ref = { projectId: row.project_id, runtimeId: row.runtime_id }
    if (row.state === 'terminating') this.#begin(row, () => endRuntime(this.#service, ref))
    else if (row.state === 'starting' && !starts.has(row.runtime_id))
      this.#begin(row, () => failRuntime(this.#service, row, startInterrupted))
    else if (row.state === 'starting') return
    else if (!this.#service.transitions.has(row.runtime_id)) this.#begin(row, () => recoverPause(this.#service, row))
  }

  #begin(row: RuntimeRow, act: () => Promise<unknown>): void {
    const { runtime_id } = row
    this.#attempts.begin({ id: runtime_id, what: row.state }, act, (err) =>
      this.#service.log.error({ err, runtime_id, state: row.state }, 'a due action on a runtime failed; it is retried'),
    )
  }
}

function graceOf({ state }: RuntimeRow): number {
  return state === 'starting' ? startGraceMs : graceMs
}

function isOverdue({ expires_at }: Pick<RuntimeRow, 'expires_at'>, at: number): boolean {
  return expires_at !== null && expires_at <= at
}
