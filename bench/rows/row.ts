import type { Findings } from '../support/report.ts'
import type { Stage } from '../support/stage.ts'

/** What a run may choose. */
export interface RowOptions {
  /** Rounds of each batch; null: what the row needs. */
  readonly rounds: number | null
  /** Seconds after which a batch of slow rounds ends, at least three rounds done; null: what the row needs. */
  readonly budgetSecs: number | null
}

/** A row of the table: what is measured, against what. */
export interface Row {
  readonly id: string
  readonly title: string
  measure(stage: Stage, options: RowOptions): Promise<Findings>
}
