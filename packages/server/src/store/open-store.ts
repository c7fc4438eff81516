import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Kysely, Transaction } from 'kysely'
import { endProcess } from './end-process.ts'
import { openSqliteStore } from './sqlite-store.ts'
import type { Tables } from './tables.ts'

/** Queries inside one transaction. */
export type Changes = Transaction<Tables>

/** What queries can be asked of: the store itself or a transaction. */
export type Queries = Kysely<Tables>

/** How a change is made. */
interface ChangeOptions {
  /**
   * `later`: for what a power cut may take back, since it takes what the change is about as well.
   * The next durable change makes it so too.
   */
  readonly durable?: 'now' | 'later'
}

/** The service's database. */
export interface Store {
  readonly db: Queries
  /**
   * Runs a change as one transaction: all of it, or nothing when it throws. Changes run one after
   * another, so what one has read holds until it ends. Resolves when it is durable, or with
   * `durable: 'later'` as soon as it is seen by others and survives the end of this process. On a
   * full disk it is run once more with the room that is held in reserve, and after a break of the
   * connection once more on the next one, so `run` may be called again.
   */
  change<Result>(run: (changes: Changes) => Promise<Result>, options?: ChangeOptions): Promise<Result>
  /**
   * Resolves when every change made so far is durable. A change is never durable before those that
   * were made before it.
   */
  settled(): Promise<void>
  /** Lays the reserve in again after the disk was full. Called now and then. */
  refillReserve(): void
  close(): Promise<void>
}

/** Where a store is. */
export type StorePlace =
  | { readonly type: 'sqlite'; readonly path: string }
  | { readonly type: 'postgres'; readonly url: string }

/** What the configuration says of the store. */
interface StoreSettings {
  readonly stateDir: string
  readonly databaseUrl: string | null
}

/** Where the database of a state directory lies. */
export function databasePath(stateDir: string): string {
  return join(stateDir, 'holt.db')
}

/** Where the store of an installation is. */
export function storePlace({ stateDir, databaseUrl }: StoreSettings): StorePlace {
  return databaseUrl === null
    ? { type: 'sqlite', path: databasePath(stateDir) }
    : { type: 'postgres', url: databaseUrl }
}

/** Whether anything was ever made there. Nothing is made by asking. */
export async function storeExists(place: StorePlace): Promise<boolean> {
  if (place.type === 'sqlite') return existsSync(place.path)
  return (await import('./postgres/schema.ts')).hasSchema(place.url)
}

/**
 * Opens the store, making and migrating it as needed. `onLost` is told where it may not be written
 * to any more, since another process has taken it away or the disk has failed; default: that ends
 * this process, by an error that nobody catches.
 */
export async function openStore(place: StorePlace, onLost: (error: Error) => void = endProcess): Promise<Store> {
  if (place.type === 'sqlite') return openSqliteStore(place.path, { onFailed: onLost })
  const { openPostgresStore } = await import('./postgres/postgres-store.ts')
  return openPostgresStore({ url: place.url, onTaken: onLost })
}
