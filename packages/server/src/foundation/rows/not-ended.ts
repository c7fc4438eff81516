import { type SqlBool, sql } from 'kysely'

/**
 * The condition for runtimes that have not ended (`endedStates`). It has literal values, so that
 * SQLite uses the partial indexes `runtimes_live` and `runtimes_live_name`
 * (https://sqlite.org/partialindex.html). SQLite otherwise reads every runtime of the last seven
 * days.
 */
export const notEnded = sql<SqlBool>`state NOT IN ('terminated', 'failed')`
