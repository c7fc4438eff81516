import type { Kysely, Transaction } from 'kysely'
import { type Alone, isAloneWith, mayNotEnter } from './alone.ts'
import type { Tables } from './tables.ts'

/** Queries inside one transaction. */
export type Changes = Transaction<Tables> & {
  /** The projects whose events the transaction writes. Readers are notified after the commit. */
  readonly projectsWithEvents: Set<string>
  /**
   * Makes a change with the scope `service` alone in a project too. Returns true if another change
   * of the project may have come in between: rows of the project that were read before have to be
   * read again. Does nothing in a change of that project. Throws in any other change.
   */
  readonly enterProject: (projectId: string) => Promise<boolean>
}

/** The scope of a change, and the function that enters a project in its transaction. */
export interface Scope {
  readonly alone: Alone
  /** Waits until the transaction is alone in a project. Absent: it is alone with everything. */
  readonly enter?: (transaction: Transaction<Tables>, projectId: string) => Promise<void>
}

/** Runs a change as one transaction. It is rolled back if `run` throws. */
export function inTransaction<Result>(
  db: Kysely<Tables>,
  { alone, enter }: Scope,
  run: (changes: Changes) => Promise<Result>,
): Promise<Result> {
  return db.transaction().execute((transaction) => {
    const enterProject = async (projectId: string) => {
      if (isAloneWith(alone, projectId)) return false
      if (alone.type !== 'service') throw mayNotEnter(alone, projectId)
      await enter?.(transaction, projectId)
      return enter !== undefined
    }
    return run(Object.assign(transaction, { projectsWithEvents: new Set<string>(), enterProject }))
  })
}
