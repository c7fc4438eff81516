import { type SqlBool, sql } from 'kysely'

/**
 * The condition for runtimes that have not ended (`endedStates`), written out: SQLite takes the
 * partial indexes `runtimes_live` and `runtimes_live_name` only where it can tell from the text of
 * the query that their condition holds (https://sqlite.org/partialindex.html), and reads every
 * runtime of the last seven days otherwise.
 */
export const notEnded = sql<SqlBool>`state NOT IN ('terminated', 'failed')`
