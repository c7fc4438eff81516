import { migrations } from './migrations.ts'

/** The schema of a store. */
export interface StoredSchema {
  readonly version: number
  /**
   * The oldest schema whose daemons work with the migrations that this service does not know. Null:
   * only the daemons that know them do.
   */
  readonly readsFrom: number | null
}

/**
 * Throws if a newer service has written the store. Nothing in the store has been changed by then.
 */
export function refuseNewer(version: number): void {
  if (version <= migrations.length) return
  throw new Error(
    `the database has schema ${version}, and this holtd knows ${migrations.length}. Use the newer holtd that wrote it`,
  )
}

/** Returns true if this service works with a schema, although a newer one may have written it. */
export function worksWith({ version, readsFrom }: StoredSchema): boolean {
  return version <= migrations.length || (readsFrom !== null && readsFrom <= migrations.length)
}

/**
 * Throws if this service does not work with the schema of a store. Nothing in the store has been
 * changed by then.
 */
export function refuseUnread({ version, readsFrom }: StoredSchema): void {
  if (worksWith({ version, readsFrom })) return
  if (readsFrom === null) refuseNewer(version)
  throw new Error(
    `the database has schema ${version}, which a holtd of schema ${readsFrom} or later can use, and this holtd knows ${migrations.length}. Use a newer holtd`,
  )
}
