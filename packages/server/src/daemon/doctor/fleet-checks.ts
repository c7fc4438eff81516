import { clockLimitMs, clockText, clockWarnMs } from '../../foundation/host/clock-difference.ts'
import { isJudged } from '../../foundation/host/host-row.ts'
import type { HostRow } from '../../foundation/store/tables.ts'
import { type Check, mustFix, ok, warn } from './check.ts'

/** The connections that one host may need. */
const connectionsOfHost = 12

/** The least time for which a certificate is valid, in milliseconds. It is renewed earlier. */
const validForMs = 8 * 3_600_000

/** The facts about a host that others reach, or could not reach. */
export interface ReachedHost {
  readonly hostId: string
  readonly address: string
  /** The end of its certificate in milliseconds since 1970 UTC. Null: it cannot be reached. */
  readonly validUntil: number | null
  /** Why it cannot be reached; null if it can be. */
  readonly problem: string | null
}

/** The columns of a host that are compared. */
type ComparedHost = Pick<
  HostRow,
  'host_id' | 'state' | 'trust' | 'version' | 'class_id' | 'key_ids' | 'protocol_min' | 'protocol_max'
>

/** The facts about a fleet, as its database and its hosts tell them. */
export interface FleetFacts {
  /** The lead of this machine's clock over the database's, in milliseconds. Null: it is unknown. */
  readonly clockDifferenceMs: number | null
  readonly maxConnections: number
  /** The names of synchronous standbys; empty: none. */
  readonly standbys: string
  /** The setting `synchronous_commit`. */
  readonly commit: string
  /** Empty before the first host has joined. */
  readonly hosts: readonly ComparedHost[]
  /** The ids of this machine's master keys. Null: it is a worker, which has none. */
  readonly keyIds: readonly string[] | null
  /** The ids of the master keys with which values are sealed. */
  readonly usedKeyIds: readonly string[]
  readonly reached: readonly ReachedHost[]
  readonly now: number
}

/** Checks a fleet by its facts. */
export function checkFleet(facts: FleetFacts): readonly Check[] {
  const live = facts.hosts.filter((host) => !isJudged(host))
  return [
    checkClock(facts.clockDifferenceMs),
    checkConnections(facts, live.length),
    checkDurability(facts),
    checkVersions(live),
    checkClasses(live),
    ...(facts.keyIds === null ? [] : [checkKeys({ ...facts, keyIds: facts.keyIds }, live)]),
    ...facts.reached.map((host) => checkReached(host, facts.now)),
  ]
}

function checkClock(differenceMs: number | null): Check {
  if (differenceMs === null)
    return warn('fleet clock', 'the database answers too slowly to compare the clock of this host with its own')
  const text = clockText(differenceMs)
  if (Math.abs(differenceMs) >= clockLimitMs) return mustFix('fleet clock', text, 'systemctl restart chrony')
  return Math.abs(differenceMs) >= clockWarnMs
    ? warn('fleet clock', text, 'systemctl restart chrony')
    : ok('fleet clock', text)
}

function checkConnections({ maxConnections }: FleetFacts, hosts: number): Check {
  const needed = Math.max(1, hosts) * connectionsOfHost
  const text = `PostgreSQL allows ${maxConnections}, and ${Math.max(1, hosts)} hosts may need ${needed}`
  return needed <= maxConnections ? ok('connections', text) : warn('connections', `${text}: raise max_connections`)
}

function checkDurability({ commit, standbys }: FleetFacts): Check {
  if (commit === 'off' || commit === 'local')
    return warn('durability', `synchronous_commit is ${commit}: a failover may lose changes that clients saw`)
  return standbys === ''
    ? warn('durability', 'PostgreSQL has no synchronous standby: a failover may lose changes that clients saw')
    : ok('durability', `changes wait for the standby ${standbys}`)
}

function checkVersions(live: readonly ComparedHost[]): Check {
  const versions = [...new Set(live.map(({ version }) => version))].sort()
  const newest = Math.min(...live.map(({ protocol_max }) => protocol_max))
  const oldest = Math.max(...live.map(({ protocol_min }) => protocol_min))
  if (live.length === 0) return ok('versions', 'no host has joined yet')
  if (newest < oldest)
    return mustFix('versions', `hosts of ${versions.join(' and ')} cannot speak with each other`, null)
  return versions.length === 1
    ? ok('versions', `all hosts have ${versions[0]}`)
    : warn('versions', `hosts have ${versions.join(', ')}: an upgrade is not finished`)
}

function checkClasses(live: readonly ComparedHost[]): Check {
  const classes = [...new Set(live.flatMap(({ class_id }) => (class_id === null ? [] : [class_id])))]
  const alone = classes.filter((id) => live.filter(({ class_id }) => class_id === id).length === 1)
  if (live.length > 1 && alone.length > 0)
    return warn('classes', `one host alone can restore checkpoints of ${alone.join(', ')}`)
  return ok('classes', classes.length === 0 ? 'none is known' : `${classes.length}`)
}

function checkKeys(
  { keyIds, usedKeyIds }: FleetFacts & { readonly keyIds: readonly string[] },
  live: readonly ComparedHost[],
): Check {
  const own = [...keyIds].sort().join(',')
  // A worker has no keys.
  const keyed = live.filter(({ trust }) => trust === 'entry')
  const others = keyed.filter(({ key_ids }) => key_ids.split(',').sort().join(',') !== own)
  if (others.length > 0) {
    const names = others.map(({ host_id }) => host_id).join(', ')
    return warn('fleet keys', `the master keys differ at ${names}: copy the newest file to every host`)
  }
  const unused = keyIds.filter((id) => !usedKeyIds.includes(id))
  return unused.length > 0 && keyIds.length > 1
    ? ok(
        'fleet keys',
        `nothing is sealed with ${unused.join(', ')}: an old key may be removed from the file of all hosts`,
      )
    : ok('fleet keys', 'all hosts have the master keys of this machine')
}

function checkReached({ hostId, address, validUntil, problem }: ReachedHost, now: number): Check {
  const name = `host ${hostId}`
  if (validUntil === null)
    return warn(
      name,
      `it cannot be reached at ${address}: ${problem ?? 'no reason is known'}. Open its port to all hosts`,
    )
  const leftHours = Math.floor((validUntil - now) / 3_600_000)
  return validUntil - now < validForMs
    ? warn(name, `its certificate ends in ${leftHours} h, and was not renewed: restart its service`)
    : ok(name, `reached at ${address}; its certificate is valid for ${leftHours} h`)
}
