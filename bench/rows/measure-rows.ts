import type { Row } from './row.ts'
import type { RowGroup } from './rows-by-environment.ts'

/** The parts of a run of several rows. */
export interface RowRun<Stage> {
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
export async function measureRows<Stage>(groups: readonly RowGroup[], run: RowRun<Stage>): Promise<void> {
  for (const { environment, rows } of groups) {
    let left = rows
    while (left.length > 0) left = left.slice(await onOneStage(environment, left, run))
  }
}

/** Returns the number of rows that have ended, at least one. */
async function onOneStage<Stage>(
  environment: Row['environment'],
  rows: readonly Row[],
  run: RowRun<Stage>,
): Promise<number> {
  let ended = 0
  const failNext = async (error: unknown) => {
    const row = rows[ended]
    ended += 1
    if (row !== undefined) await run.fail(row, error)
  }
  try {
    const refused = run.refusal()
    if (refused !== null) throw new Error(refused)
    await run.open(environment, async (stage) => {
      for (const row of rows) {
        if (run.refusal() !== null) return
        try {
          await run.measure(row, stage)
          ended += 1
        } catch (error) {
          run.signal.throwIfAborted()
          return failNext(error)
        }
      }
    })
    if (ended === 0) await failNext(new Error(run.refusal() ?? 'the row did not begin'))
  } catch (error) {
    run.signal.throwIfAborted()
    if (ended === 0) await failNext(error)
    else run.warn(error)
  }
  return ended
}
