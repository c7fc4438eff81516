import type { CreateSnapshotInput, Holt, NewFork, RuntimeState } from '@holt/sdk'
import type { RuntimeRow } from './runtime-row.ts'

/** A runtime of which only the id is known, or its row. */
export type Changed = Pick<RuntimeRow, 'id' | 'name'>

/** A change of runtimes that the table makes to many at once. */
export interface RuntimeChange<Result> {
  readonly title: string
  /** The words for a number of runtimes, while it runs and after it: `Pausing`, `Paused`. */
  readonly doing: string
  readonly done: string
  /** The states from which it is possible. */
  readonly from: readonly RuntimeState[]
  /** The state to show before the service has confirmed it; null if the state does not change. */
  readonly shows: RuntimeState | null
  run(holt: Holt, id: string): Promise<Result>
}

/** The cost of a delete, for the question before it. */
export const deleteText =
  'Its commands end, and its memory and files are gone. Snapshots of it remain. This cannot be undone.'

/** The text after a delete. */
export const deletedText = 'This cannot be undone.'

/** Pauses runtimes. */
export const pause: RuntimeChange<void> = {
  title: 'Pause',
  doing: 'Pausing',
  done: 'Paused',
  from: ['running'],
  shows: 'pausing',
  run: async (holt, id) => (await holt.runtimes.get(id)).pause(),
}

/** Resumes paused runtimes. */
export const resume: RuntimeChange<void> = {
  title: 'Resume',
  doing: 'Resuming',
  done: 'Resumed',
  from: ['paused'],
  shows: 'resuming',
  run: async (holt, id) => (await holt.runtimes.get(id)).resume(),
}

/** Deletes runtimes. Nothing undoes it. A failed one has nothing left to delete. */
export const remove: RuntimeChange<void> = {
  title: 'Delete',
  doing: 'Deleting',
  done: 'Deleted',
  from: ['starting', 'running', 'pausing', 'paused', 'resuming'],
  shows: 'terminating',
  run: async (holt, id) => (await holt.runtimes.get(id)).delete(),
}

/** The forks of one runtime, and the errors of those that could not be made. */
export interface Forked {
  readonly forks: readonly Changed[]
  readonly errors: readonly unknown[]
}

/** Returns the change that forks runtimes. */
export function forkInto(body: NewFork): RuntimeChange<Forked> {
  return {
    title: 'Fork',
    doing: 'Forking',
    done: 'Forked',
    from: ['running'],
    shows: null,
    run: async (holt, id) => {
      const { runtimes, errors } = await (await holt.runtimes.get(id)).fork(body)
      return { forks: runtimes.map(({ runtime_id, name }) => ({ id: runtime_id, name })), errors }
    },
  }
}

/** Returns the change that takes a snapshot of each runtime. It returns the id of each snapshot. */
export function takeSnapshot(body: CreateSnapshotInput): RuntimeChange<string> {
  return {
    title: 'Snapshot',
    doing: 'Taking snapshots of',
    done: 'Took snapshots of',
    from: ['running', 'paused'],
    shows: null,
    run: async (holt, id) => (await (await holt.runtimes.get(id)).snapshot(body)).snapshot_id,
  }
}

/** Returns the rows to which a change applies. */
export function rowsFor<Result>({ from }: RuntimeChange<Result>, rows: readonly RuntimeRow[]): readonly RuntimeRow[] {
  return rows.filter(({ state }) => from.includes(state))
}
