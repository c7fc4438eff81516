import { failpoint } from '@holt/failpoints'
import { Kysely } from 'kysely'
import { inTransaction } from '../changes.ts'
import { refuseNewer } from '../migrations/refuse-newer.ts'
import type { Store } from '../open-store.ts'
import type { Tables } from '../tables.ts'
import { postgresDialect } from './dialect.ts'
import { Readers } from './readers.ts'
import { migratePostgres, schemaVersion } from './schema.ts'
import { timeoutMs } from './session.ts'
import { Writer } from './writer.ts'

/** The options of a PostgreSQL store. */
interface PostgresStoreOptions {
  readonly url: string
  readonly onTaken: (error: Error) => void
  /**
   * The time that a statement of a change may take, in milliseconds. After it the connection counts
   * as broken. Migrations have no bound.
   */
  readonly statementMs?: number
}

/**
 * Opens a database of PostgreSQL 15 or newer for this daemon alone, and makes and migrates its
 * tables as needed. Every change is durable when it resolves, as far as the server's own settings
 * allow. That includes changes with `durable: 'later'`: the server is another machine, and does not
 * end together with the thing that a change is about.
 */
export async function openPostgresStore({
  url,
  onTaken,
  statementMs = timeoutMs.statement,
}: PostgresStoreOptions): Promise<Store> {
  const writer = await Writer.open({
    url,
    onTaken,
    statementMs,
    prepare: async (session) => {
      refuseNewer(await schemaVersion(session))
      await migratePostgres(session)
    },
  })
  const readers = new Readers(url, 'holtd reader')
  const db = new Kysely<Tables>({ dialect: postgresDialect(writer, readers) })
  let closing: Promise<unknown> | null = null
  return {
    type: 'postgres',
    db,
    change: async (run) => {
      await failpoint('store.change')
      const result = await writer.run(() => inTransaction(db, run))
      await failpoint('store.committed')
      return result
    },
    settled: async () => {},
    refillReserve: () => {},
    close: async () => {
      closing ??= db.destroy().then(() => Promise.all([readers.close(), writer.close()]))
      await closing
    },
  }
}
