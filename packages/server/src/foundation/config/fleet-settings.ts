import { z } from 'zod'

/** The settings of a fleet. Times are in milliseconds. */
export interface FleetConfig {
  /** The interval of the beats of a host. */
  readonly beatMs: number
  /** The silence after which a host is suspect: nothing is placed on it. */
  readonly suspectMs: number
  /** The lease: a host fences itself so long after the last beat that was acknowledged. */
  readonly fenceMs: number
  /** The silence after which there is a verdict against a host. */
  readonly verdictMs: number
  /** The longest time between two reads of the judge. After a longer one it counts again. */
  readonly readGapMs: number
  /** The silence of its holder after which another host takes a duty. */
  readonly dutyMs: number
  /**
   * A `front` answers clients, and runs no runtimes. A `worker` runs runtimes for fronts, and has
   * no keys. Any other host does both.
   */
  readonly role: 'all' | 'front' | 'worker'
  /** The file of the token with which a worker joins; null: it has joined, or is none. */
  readonly joinTokenFile: string | null
  /** An address at which workers join, before those of the token; null: only those. */
  readonly joinAddress: string | null
  /** A snapshot is ready when it is in the object store, or when it is on the disk of its host. */
  readonly snapshotDurable: 'stored' | 'local'
}

/**
 * The least ratio of verdict and fence. The rates of two clocks differ by 2 % at most. And a
 * process may be stopped between a look at the clock and a byte on the wire.
 */
const leastMargin = 1.1

const seconds = (least: number, usual: number) =>
  z
    .string()
    .regex(/^\d{1,5}$/, 'must be a whole number of seconds')
    .transform(Number)
    .refine((value) => value >= least && value <= 86_400, `must be between ${least} and 86400`)
    .default(usual)

export const fleetSettings = {
  HOLT_FLEET: z
    .enum(['0', '1'], 'must be 0 or 1')
    .default('0')
    .describe(
      '`1` makes this machine a host of a fleet. It needs `HOLT_DATABASE_URL`, `HOLT_PEER_ADDRESS` and `HOLT_OBJECT_STORE`. See [fleet.md](fleet.md).',
    ),
  HOLT_ROLE: z
    .enum(['all', 'front', 'worker'], 'must be all, front or worker')
    .default('all')
    .describe(
      'The role of this host in its fleet. `front`: it answers clients, and runs no runtimes. It needs neither root nor gVisor. See [fleet.md](fleet.md#fronts). `worker`: it runs runtimes for fronts, and has no keys of the fleet. See [fleet.md](fleet.md#workers).',
    ),
  HOLT_JOIN_TOKEN_FILE: z
    .string()
    .startsWith('/', 'must be an absolute path')
    .optional()
    .describe(
      'The file of the token with which a worker joins its fleet. `holt fleet token` makes one. It is read at the first start.',
    ),
  HOLT_JOIN_ADDRESS: z
    .string()
    .max(300)
    .regex(/^(?:\[[0-9A-Fa-f:.]+\]|[^:\s[\]]+):\d{1,5}$/, 'must be an address with a port: fronts.example.com:4659')
    .optional()
    .describe(
      'The address at which a worker joins its fleet, before those in its token: of a load balancer before the port 4659 of fronts. The Helm chart sets it.',
    ),
  HOLT_MASTER_KEYS_FILE: z
    .string()
    .regex(/^\//, 'must be an absolute path')
    .optional()
    .describe(
      'The file with the master keys, which all hosts of a fleet have. Only the operator writes it. Default: `master-keys.json` in the state directory. See [fleet.md](fleet.md#master-keys).',
    ),
  HOLT_FLEET_SUSPECT: seconds(10, 15).describe(
    'The seconds without a beat after which a host is suspect. Nothing is placed on it.',
  ),
  HOLT_FLEET_FENCE: seconds(12, 240).describe(
    'The lease of a host, in seconds. A host that could not renew it lets nothing leave its runtimes.',
  ),
  HOLT_FLEET_VERDICT: seconds(15, 300).describe(
    'The seconds without a beat after which a host is lost, and its running runtimes fail. At least 1.1 times the lease.',
  ),
  HOLT_SNAPSHOT_DURABLE: z
    .enum(['stored', 'local'], 'must be stored or local')
    .default('stored')
    .describe(
      'When a snapshot is ready in a fleet. `stored`: it is in the object store. `local`: it is on the disk of its host, which is quicker, and it is lost with that host until it is stored.',
    ),
  HOLT_FLEET_DUTY: seconds(10, 30).describe(
    'The seconds after which another host takes over the work that one host does for the fleet.',
  ),
}

/** Returns the settings of the fleet that do not fit together, each with a message. */
export function wrongFleet(
  given: Readonly<Record<string, string | undefined>>,
): readonly (readonly [string, string])[] {
  const parsed = z.object(fleetSettings).safeParse(given)
  if (!parsed.success) return []
  const isWorker = parsed.data.HOLT_ROLE === 'worker'
  if (parsed.data.HOLT_FLEET !== '1')
    return [
      ...(parsed.data.HOLT_ROLE === 'all' ? [] : [ofFleet('HOLT_ROLE')]),
      ...(given.HOLT_MASTER_KEYS_FILE === undefined ? [] : [ofFleet('HOLT_MASTER_KEYS_FILE')]),
    ]
  const { HOLT_FLEET_FENCE: fence, HOLT_FLEET_VERDICT: verdict, HOLT_FLEET_SUSPECT: suspect } = parsed.data
  const wrong: [string, string][] = []
  if (isWorker) wrong.push(...wrongWorker(given))
  else
    for (const name of ['HOLT_JOIN_TOKEN_FILE', 'HOLT_JOIN_ADDRESS'])
      if (given[name] !== undefined) wrong.push([name, 'is for a worker: set HOLT_ROLE=worker'])
  if (given.HOLT_DATABASE_URL === undefined && !isWorker)
    wrong.push(['HOLT_FLEET', 'the hosts of a fleet share a PostgreSQL database: set HOLT_DATABASE_URL'])
  if (given.HOLT_PEER_ADDRESS === undefined)
    wrong.push(['HOLT_FLEET', 'the hosts of a fleet forward requests to each other: set HOLT_PEER_ADDRESS'])
  if (given.HOLT_OBJECT_STORE === undefined)
    wrong.push(['HOLT_FLEET', 'the hosts of a fleet share images and checkpoints: set HOLT_OBJECT_STORE'])
  if (verdict < fence * leastMargin)
    wrong.push(['HOLT_FLEET_VERDICT', `must be at least ${Math.ceil(fence * leastMargin)}, 1.1 times the lease`])
  if (suspect > verdict) wrong.push(['HOLT_FLEET_SUSPECT', 'must not be more than HOLT_FLEET_VERDICT'])
  return wrong
}

/** Returns the settings that a worker may not have. */
function wrongWorker(given: Readonly<Record<string, string | undefined>>): readonly [string, string][] {
  const wrong: [string, string][] = []
  if (given.HOLT_DATABASE_URL !== undefined)
    wrong.push(['HOLT_DATABASE_URL', 'is not for a worker: a front gives it a database role of its own'])
  if (given.HOLT_MASTER_KEYS_FILE !== undefined)
    wrong.push(['HOLT_MASTER_KEYS_FILE', 'is not for a worker: it has no master keys'])
  return wrong
}

function ofFleet(name: string): readonly [string, string] {
  return [name, 'is for a host of a fleet: set HOLT_FLEET=1']
}

/** Returns the configuration of the fleet; null if the machine is in none. */
export function fleetOf(data: z.output<z.ZodObject<typeof fleetSettings>>): FleetConfig | null {
  if (data.HOLT_FLEET !== '1') return null
  return {
    beatMs: 5_000,
    suspectMs: data.HOLT_FLEET_SUSPECT * 1000,
    fenceMs: data.HOLT_FLEET_FENCE * 1000,
    verdictMs: data.HOLT_FLEET_VERDICT * 1000,
    readGapMs: 10_000,
    dutyMs: data.HOLT_FLEET_DUTY * 1000,
    role: data.HOLT_ROLE,
    joinTokenFile: data.HOLT_JOIN_TOKEN_FILE ?? null,
    joinAddress: data.HOLT_JOIN_ADDRESS ?? null,
    snapshotDurable: data.HOLT_SNAPSHOT_DURABLE,
  }
}
