import type { BuildContextRow } from '../foundation/store/build-tables.ts'
import type { Builds } from './builds.ts'

/** Returns true if the file of a context is on this host, and not only a copy of it. */
export function isOwn({ thisHost }: Pick<Builds, 'thisHost'>, { host_id }: BuildContextRow): boolean {
  return host_id === null || host_id === thisHost.hostId
}
