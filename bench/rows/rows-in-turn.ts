import type { Row } from './row.ts'
import type { RowGroup } from './rows-by-environment.ts'

/** The parts of a run of several rows. */
export interface Turns<Stage> {
  /** Ends the run. */
  readonly signal: AbortSignal
  /** Opens the stage of a group, passes it to `use`, and closes it. */
  readonly open: (environment: Row['environment'], use: (stage: Stage) => Promise<void>) => Promise<void>
  /** Returns the reason why no further row may begin; null if one may. */
  readonly refusal: () => string | null
  readonly measure: (row: Row, stage: Stage) => Promise<void>
  /** Records that a row was not measured. */
  readonly fail: (row: Row, error: unknown) => Promise<void>
  /** Reports a stage that could not be closed after its rows. */
  readonly warn: (error: unknown) => void
}

/**
 * Measures rows group by group. Each row is either measured or recorded as failed. After a failed
 * row the others of its group get a new stage, because the daemon may have ended, and runtimes may
 * be left. Rejects only if `signal` is aborted.
 */
export async function rowsInTurn<Stage>(groups: readonly RowGroup[], turns: Turns<Stage>): Promise<void> {
  for (const { environment, rows } of groups) {
    let left = rows
    while (left.length > 0) left = left.slice(await onOneStage(environment, left, turns))
  }
}

/** Returns the number of rows that have ended, at least one. */
async function onOneStage<Stage>(
  environment: Row['environment'],
  rows: readonly Row[],
  turns: Turns<Stage>,
): Promise<number> {
  let ended = 0
  const failNext = async (error: unknown) => {
    const row = rows[ended]
    ended += 1
    if (row !== undefined) await turns.fail(row, error)
  }
  try {
    const refused = turns.refusal()
    if (refused !== null) throw new Error(refused)
    await turns.open(environment, async (stage) => {
      for (const row of rows) {
        if (turns.refusal() !== null) return
        try {
          await turns.measure(row, stage)
          ended += 1
        } catch (error) {
          turns.signal.throwIfAborted()
          return failNext(error)
        }
      }
    })
    if (ended === 0) await failNext(new Error(turns.refusal() ?? 'the row did not begin'))
  } catch (error) {
    turns.signal.throwIfAborted()
    if (ended === 0) await failNext(error)
    else turns.warn(error)
  }
  return ended
}
