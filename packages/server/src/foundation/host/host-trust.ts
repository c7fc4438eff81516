/**
 * The trust that the other hosts of a fleet have in a host. An `entry` has the keys of the fleet,
 * and vouches for callers. A `worker` runs code, has no keys, and vouches for nobody.
 */
export type HostTrust = 'entry' | 'worker'
