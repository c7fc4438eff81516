import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Kysely } from 'kysely'
import type { Alone } from './alone.ts'
import type { Changes } from './changes.ts'
import { endProcess } from './end-process.ts'
import { openSqliteStore } from './sqlite-store.ts'
import type { Tables } from './tables.ts'

export type { Changes } from './changes.ts'

/** The target of queries: the store itself or a transaction. */
export type Queries = Kysely<Tables>

/** The options of a change. */
interface ChangeOptions {
  /**
   * The time at which the change is durable. Use `later` if a power cut that undoes the change also
   * takes the thing that it is about. The next durable change makes it durable, too.
   */
  readonly durable?: 'now' | 'later'
}

/** The service's database. */
export interface Store {
  /** The kind of database, for the few queries that differ. */
  readonly type: StorePlace['type']
  readonly db: Queries
  /**
   * Runs a change as one transaction, which is rolled back if `run` throws. The rows of its scope
   * that a change has read stay the same until it ends: changes of the same scope run one after
   * another, those of other processes included. In SQLite every change is alone with everything.
   * In PostgreSQL each statement sees what others have committed before it.
   *
   * Resolves when the change is durable. With `durable: 'later'`, resolves as soon as others see
   * the change and it survives the end of this process.
   *
   * The change runs again with the room of the reserve if the disk is full. Three events also make
   * it run again, up to five times in all: a break of the connection, a collision, and the refusal
   * of a row by a constraint. `run` may therefore be called again.
   */
  change<Result>(alone: Alone, run: (changes: Changes) => Promise<Result>, options?: ChangeOptions): Promise<Result>
  /** Runs reads that all see the store at one moment. They must not write. */
  atOneMoment<Result>(read: (db: Queries) => Promise<Result>): Promise<Result>
  /**
   * Resolves when all changes that are under way have ended, those of other processes included.
   * Later changes read what was committed before the call. Rejects after `timeoutMs`.
   */
  changesEnded(timeoutMs?: number): Promise<void>
  /**
   * Resolves when every change made so far is durable. A change is never durable before the changes
   * made earlier.
   */
  settled(): Promise<void>
  /** Makes the reserve again after the disk was full. Called at intervals. */
  refillReserve(): void
  close(): Promise<void>
}

/** The place of a store. */
export type StorePlace =
  | { readonly type: 'sqlite'; readonly path: string }
  /** `fleet`: several daemons share the database. Default: it is for one daemon alone. */
  | { readonly type: 'postgres'; readonly url: string; readonly fleet?: boolean; readonly as?: DatabaseUser }

/** The rights of a daemon in a database. A `worker` may not migrate it. Default: `owner`. */
export type DatabaseUser = 'owner' | 'worker'

/** The configuration of the store. */
interface StoreSettings {
  readonly stateDir: string
  readonly databaseUrl: string | null
  /** The fleet whose daemons share the database. Default: it is for one daemon alone. */
  readonly fleet?: { readonly role: string } | null
}

/** Returns the path of the database of a state directory. */
export function databasePath(stateDir: string): string {
  return join(stateDir, 'holt.db')
}

/** Returns the place of an installation's store. */
export function storePlace({ stateDir, databaseUrl, fleet = null }: StoreSettings): StorePlace {
  return databaseUrl === null
    ? { type: 'sqlite', path: databasePath(stateDir) }
    : { type: 'postgres', url: databaseUrl, fleet: fleet !== null, as: userOf(fleet) }
}

function userOf(fleet: StoreSettings['fleet']): DatabaseUser {
  return fleet?.role === 'worker' ? 'worker' : 'owner'
}

/** Returns true if the place has a store. Makes nothing. */
export async function storeExists(place: StorePlace): Promise<boolean> {
  if (place.type === 'sqlite') return existsSync(place.path)
  return (await import('./postgres/schema.ts')).hasSchema(place.url)
}

/**
 * Opens the store, and makes and migrates it as needed. `onLost` is called when the store may no
 * longer be written to: another process has taken it, or the disk has failed. The default ends this
 * process with an uncaught error.
 */
export async function openStore(place: StorePlace, onLost: (error: Error) => void = endProcess): Promise<Store> {
  if (place.type === 'sqlite') return openSqliteStore(place.path, { onFailed: onLost })
  const { openPostgresStore } = await import('./postgres/postgres-store.ts')
  return openPostgresStore({ ...place, onTaken: onLost })
}
