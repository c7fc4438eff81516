import { migrations } from './migrations.ts'

/**
 * Throws if a newer service has written the store. Nothing in the store has been changed by then.
 */
export function refuseNewer(version: number): void {
  if (version <= migrations.length) return
  throw new Error(
    `the database has schema ${version}, and this holtd knows ${migrations.length}. Use the newer holtd that wrote it`,
  )
}
