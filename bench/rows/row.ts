import type { Isolation } from '@holt/sdk'
import type { Findings } from '../support/report.ts'
import type { Stage } from '../support/stage.ts'

/** The options of a run. */
export interface RowOptions {
  /** The rounds of each batch; null for the row's default. */
  readonly rounds: number | null
  /**
   * The seconds after which a batch of slow rounds ends, but not before three rounds; null for the
   * row's default.
   */
  readonly budgetSecs: number | null
}

/** A row of the table: a measurement and its baseline. */
export interface Row {
  readonly id: string
  readonly title: string
  /** The settings of the measured daemon. Rows with equal settings share a daemon. */
  readonly environment: Readonly<Record<string, string>>
  measure(stage: Stage, options: RowOptions): Promise<Findings>
}

/** The settings of a daemon without a pool, so that a create includes all of its work. */
export const withoutPool: Row['environment'] = { HOLT_POOL_MAX: '0' }

/**
 * Returns the settings of a daemon whose pool has `members` runtimes of the default template.
 * `isolation` becomes the default class.
 */
export function withPoolOf(isolation: Isolation, members: number): Row['environment'] {
  return { HOLT_ISOLATION: isolation, HOLT_POOL_MIN: String(members) }
}
