import type { KeyedLock } from '@holt/async'
import type { Engine } from '@holt/engine'
import type { ServerConfig } from './config/config.ts'
import type { ConnectionLimits } from './config/connection-limits.ts'
import type { Duties } from './host/duties.ts'
import type { HostCondition } from './host/host-condition.ts'
import type { HostDirectory } from './host/host-directory.ts'
import type { OwnHost } from './host/own-host.ts'
import type { ThisHost } from './host/this-host.ts'
import type { Collector } from './images/collector.ts'
import type { Holds } from './images/holds.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics/metrics.ts'
import type { MasterKeys } from './sealing/master-keys.ts'
import type { SealedValues } from './sealing/sealed-values.ts'
import type { Store } from './store/open-store.ts'
import type { HostClock } from './time/host-clock.ts'
import type { Tracer } from './tracing/tracer.ts'

/** The handle of the foundation: the parts that the code of every district may use. */
export interface Foundation {
  readonly config: ServerConfig
  readonly engine: Engine
  readonly store: Store
  /** Large reads of each project, one after another. */
  readonly reads: KeyedLock
  readonly log: Log
  /** Returns milliseconds since 1970 UTC. */
  readonly now: () => number
  /** Returns milliseconds of a clock that is never set. Its start is arbitrary. */
  readonly monotonic: () => number
  readonly hostClock: HostClock
  readonly host: OwnHost
  /** The host of this process, by which its own rows are known. */
  readonly thisHost: ThisHost
  /** The hosts of the fleet, as this host sees them. */
  readonly hosts: HostDirectory
  /** The condition of this host in its fleet. */
  readonly condition: HostCondition
  /** The work for the whole fleet that this host does. */
  readonly duties: Duties
  /** Returns the memory that the host can give now, or null if unknown. */
  readonly freeMemoryMiB: () => Promise<number | null>
  /** The limits of client connections and of their data. */
  readonly limits: ConnectionLimits
  readonly metrics: Metrics
  readonly tracer: Tracer
  /** The keys that seal. Null: this host is a worker, and has none. */
  readonly masterKeys: MasterKeys | null
  /**
   * Encrypts every sealed value with a new key. Returns the number of values. In a fleet, the
   * operator has added the key to the file of each host.
   */
  readonly rotateMasterKey: () => Promise<number>
  readonly sealedValues: SealedValues
  /** Keeps images and checkpoints that no row refers to. */
  readonly holds: Holds
  readonly collector: Collector
  /** Returns the issuer of tokens: the address at which verifiers find this service. */
  readonly issuer: () => string
  /** Aborted when the service closes. */
  readonly closing: AbortSignal
}
