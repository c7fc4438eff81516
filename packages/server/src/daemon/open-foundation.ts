import { KeyedLock } from '@holt/async'
import type { Engine } from '@holt/engine'
import type { Fleet } from '../fleet/open-fleet.ts'
import type { WorkerIdentity } from '../fleet/trust/worker-identity.ts'
import type { ServerConfig } from '../foundation/config/config.ts'
import { type ConnectionLimits, limitsFor, openFilesLimit } from '../foundation/config/connection-limits.ts'
import type { Foundation } from '../foundation/foundation.ts'
import type { OwnHost } from '../foundation/host/own-host.ts'
import { Collector } from '../foundation/images/collector.ts'
import { Holds } from '../foundation/images/holds.ts'
import type { Log } from '../foundation/log.ts'
import { Metrics } from '../foundation/metrics/metrics.ts'
import { recordsPurpose } from '../foundation/rows/kept-answers.ts'
import { type MasterKeys, openMasterKeys } from '../foundation/sealing/master-keys.ts'
import { rotateMasterKey } from '../foundation/sealing/rotate-master-key.ts'
import type { SealedValues } from '../foundation/sealing/sealed-values.ts'
import { StoredSealedValues } from '../foundation/sealing/stored-sealed-values.ts'
import type { Store } from '../foundation/store/open-store.ts'
import { type HostClock, openHostClock } from '../foundation/time/host-clock.ts'
import { observeEngine } from '../foundation/tracing/observed-engine.ts'
import { observeStore } from '../foundation/tracing/observed-store.ts'
import { noTracer, type Tracer } from '../foundation/tracing/tracer.ts'
import { Fallbacks } from '../resources/templates/fallbacks.ts'
import { EventNotifier } from '../tenancy/events/event-notifier.ts'
import { openOwnStore } from './open-own-store.ts'
import { openThisHost } from './open-this-host.ts'

/** The given parts of a foundation. */
export interface FoundationOptions {
  readonly config: ServerConfig
  readonly engine: Engine
  readonly log: Log
  /** The destination of traces. Default: none. */
  readonly tracer?: Tracer
  readonly now?: () => number
  /** The monotonic clock. Default: `now` if it is given, else the machine's. */
  readonly monotonic?: () => number
  /** The clock of the host. Default: one from `monotonic` or `now` if given, else the machine's. */
  readonly hostClock?: HostClock
  readonly freeMemoryMiB?: () => Promise<number | null>
  /** The identity of a worker that has joined. Default: the host is no worker. */
  readonly worker?: WorkerIdentity
  /** The host of this service. Default: that of the store, or a new one, without checks. */
  readonly host?: OwnHost
  /**
   * Called when the epoch of this host is over: there was a verdict against it. Default: the
   * process ends, and its manager starts it again.
   */
  readonly onOver?: (error: Error) => void
  /** An open store. Default: the one of the configuration. */
  readonly store?: Store
  readonly limits?: ConnectionLimits
}

/** A foundation, and what depends on its store and its address. */
interface OpenFoundation {
  readonly foundation: Foundation
  /** Notifies of the events that the store commits. */
  readonly eventNotifier: EventNotifier
  /** Sets the address at which the service listens. */
  readonly listensAt: (url: string) => void
  /** This host in its fleet; null: it is in none. */
  readonly fleet: Fleet | null
}

/**
 * Opens the store and the master keys, which a worker does not have. The engine and the store are
 * observed: their calls are counted and traced.
 */
export async function openFoundation(options: FoundationOptions, closing: AbortSignal): Promise<OpenFoundation> {
  const { config, log, tracer = noTracer, limits = limitsFor(openFilesLimit()) } = options
  const { freeMemoryMiB = async () => null } = options
  const metrics = new Metrics({ stateDir: config.stateDir, log })
  const eventNotifier = new EventNotifier()
  const store = eventNotifier.notifyAfterCommits(
    observeStore(options.store ?? (await openOwnStore(options)), { metrics, tracer }),
  )
  const masterKeys = await keysOf(options, store).catch(async (error) => {
    await store.close()
    throw error
  })
  const clocks = clocksOf(options)
  const { fleet, guarded, ...host } = await openThisHost(store, {
    ...options,
    ...clocks,
    metrics,
    masterKeys,
    closing,
  }).catch(async (error) => {
    await store.close()
    throw error
  })
  const fallbacks = new Fallbacks(() => foundation)
  let url = ''
  const foundation: Foundation = {
    config,
    engine: observeEngine(options.engine, {
      metrics,
      tracer,
      onFallback: (...seen) => void fallbacks.note(...seen),
    }),
    store: guarded,
    reads: new KeyedLock(),
    log,
    ...clocks,
    ...host,
    freeMemoryMiB,
    limits,
    metrics,
    tracer,
    masterKeys,
    sealedValues: sealedValuesOf(masterKeys, fleet),
    rotateMasterKey: () => rotationOf(foundation, fleet),
    holds: new Holds(),
    collector: new Collector(log),
    issuer: () => config.issuer ?? url,
    closing,
  }
  return {
    foundation,
    eventNotifier,
    fleet,
    listensAt: (at) => {
      url = at
    },
  }
}

/** Returns the master keys of this host. Null: it is a worker, and has none. */
async function keysOf(options: FoundationOptions, store: Store): Promise<MasterKeys | null> {
  return options.config.fleet?.role === 'worker' ? null : openKeys(options, store)
}

/** Returns the sealed values of a host with master keys, or those that a worker asks fronts for. */
function sealedValuesOf(masterKeys: MasterKeys | null, fleet: Fleet | null): SealedValues {
  if (masterKeys !== null) return new StoredSealedValues(masterKeys)
  const asked = fleet?.asked ?? null
  if (asked === null) throw new Error('a worker needs the identity that a front has given it')
  return asked.sealedValues
}

/** Encrypts every sealed value with a new key, as this host may. */
function rotationOf(foundation: Foundation, fleet: Fleet | null): Promise<number> {
  const { masterKeys } = foundation
  if (fleet !== null) return fleet.rotateMasterKey()
  if (masterKeys === null) throw new Error('a host without master keys is in no fleet')
  return rotateMasterKey({ ...foundation, masterKeys })
}

/** Opens the master keys of the state directory. Throws if secrets would be lost. */
async function openKeys({ config, now = Date.now }: FoundationOptions, { db }: Store): Promise<MasterKeys> {
  const hasSealed = async () =>
    (await db
      .selectFrom('sealed_values')
      .select('owner_id')
      .where('purpose', '!=', recordsPurpose)
      .limit(1)
      .executeTakeFirst()) !== undefined
  // With `adoptStore`, an operator without a backup of the keys gives up the sealed values, once.
  const areNeeded = async () => !config.adoptStore && (await hasSealed())
  const { stateDir, masterKeysFile } = config
  return openMasterKeys(stateDir, { masterKeysFile, now: now(), areNeeded })
}

function clocksOf(given: FoundationOptions): Pick<Foundation, 'now' | 'monotonic' | 'hostClock'> {
  const { now = Date.now, monotonic = given.now ?? (() => performance.now()) } = given
  const uptime = given.monotonic ?? given.now
  const { hostClock = uptime === undefined ? openHostClock() : { bootId: 'given', uptime } } = given
  return { now, monotonic, hostClock }
}
