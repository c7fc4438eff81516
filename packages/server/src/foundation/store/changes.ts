import type { Kysely, Transaction } from 'kysely'
import type { Tables } from './tables.ts'

/** Queries inside one transaction. */
export type Changes = Transaction<Tables> & {
  /** The projects whose events the transaction writes. Readers are notified after the commit. */
  readonly projectsWithEvents: Set<string>
}

/** Runs a change as one transaction. It is rolled back if `run` throws. */
export function inTransaction<Result>(db: Kysely<Tables>, run: (changes: Changes) => Promise<Result>): Promise<Result> {
  return db
    .transaction()
    .execute((transaction) => run(Object.assign(transaction, { projectsWithEvents: new Set<string>() })))
}
