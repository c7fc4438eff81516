import type { Isolation } from '@holt/sdk'
import type { Findings } from '../support/report.ts'
import type { Stage } from '../support/stage.ts'

/** What a run may choose. */
export interface RowOptions {
  /** Rounds of each batch; null: what the row needs. */
  readonly rounds: number | null
  /**
   * Seconds after which a batch of slow rounds ends, at least three rounds done; null: what the row
   * needs.
   */
  readonly budgetSecs: number | null
}

/** A row of the table: what is measured, against what. */
export interface Row {
  readonly id: string
  readonly title: string
  /** Settings of the daemon that it measures. Rows with the same ones share a daemon. */
  readonly environment: Readonly<Record<string, string>>
  measure(stage: Stage, options: RowOptions): Promise<Findings>
}

/**
 * Settings of a daemon that keeps no runtimes waiting: what is measured is then all that is done.
 */
export const withoutPool: Row['environment'] = { HOLT_POOL_MAX: '0' }

/**
 * Settings of a daemon that keeps `members` runtimes of the default template waiting, in a class
 * that is its default.
 */
export function withPoolOf(isolation: Isolation, members: number): Row['environment'] {
  return { HOLT_ISOLATION: isolation, HOLT_POOL_MIN: String(members) }
}
