import { migrations } from './migrations.ts'

/** Refuses a store that a newer service has written. Nothing of it has been touched. */
export function refuseNewer(version: number): void {
  if (version <= migrations.length) return
  throw new Error(
    `the database has schema ${version}; this holtd knows ${migrations.length}: it was written by a newer one`,
  )
}
