import type { KeyedLock, Semaphore } from '@holt/async'
import { EngineError, type Isolation, type RuntimeId } from '@holt/engine'
import { CgroupFreezer, type FreezerPlace } from '../cgroups/cgroup-freezer.ts'
import type { CgroupHost } from '../cgroups/detect-cgroups.ts'
import { RuntimeCgroup } from '../cgroups/runtime-cgroup.ts'
import type { HostCheckpoints } from '../checkpoints/host-checkpoints.ts'
import type { DiskPool } from '../disks/disk-pool.ts'
import type { CheckpointDriver, Driver } from '../drivers/driver.ts'
import type { HostImages } from '../images/host-images.ts'
import type { ImageMounts } from '../images/image-mounts.ts'
import type { Layout } from '../installation/layout.ts'
import type { Log } from '../installation/options.ts'
import type { Observers } from '../runtimes/observers.ts'
import type { RuntimeRegistry } from '../runtimes/runtime-registry.ts'

/** The parts that the verbs share. `createHostEngine` makes them once. */
export interface Host {
  readonly layout: Layout
  readonly log: Log
  readonly cgroups: CgroupHost
  readonly cgroupParent: string
  /** The place for freezing runtimes; null if this host cannot freeze them. */
  readonly freezer: FreezerPlace | null
  readonly limitsSwap: boolean
  readonly openFilesMax: number
  /** True if a mounted disk can be made larger. */
  readonly canGrowDisks: boolean
  /**
   * The directory in which runners of containers find root and users, in mounts of their own. Null
   * if the host has no directory for that.
   */
  readonly rootPlace: string | null
  /** Null if the engine makes no runtimes. */
  readonly guest: GuestFile | null
  readonly gvisor: CheckpointDriver | null
  readonly container: Driver | null
  readonly disks: DiskPool
  readonly images: HostImages
  readonly imageMounts: ImageMounts
  readonly checkpoints: HostCheckpoints
  readonly runtimes: RuntimeRegistry
  readonly observers: Observers
  /** Allows one verb at a time for each runtime. */
  readonly locks: KeyedLock
  /** Bounds the runtimes that start at once: more would only take turns on the same cores. */
  readonly starts: Semaphore
  /**
   * Bounds the runtimes that are removed at once. A hundred removals at once would starve each
   * other and the work that waits for them.
   */
  readonly removals: Semaphore
}

/**
 * The guest binary in the state directory. It does not change while a checkpoint may refer to it.
 */
export interface GuestFile {
  readonly path: string
  readonly sha256: string
}

/**
 * Returns the guest of new runtimes. Throws kind `not_supported` if the engine was opened without
 * one.
 */
export function guestOf(host: Host): GuestFile {
  if (host.guest === null) throw new EngineError('not_supported', 'this engine was opened without a guest')
  return host.guest
}

/** Returns the cgroups of one runtime. */
export function cgroupOf(host: Host, id: RuntimeId): RuntimeCgroup {
  return new RuntimeCgroup(host, host.cgroupParent, id)
}

/** Returns the freezer of one runtime, or null if this host has none. */
export function cgroupFreezerOf(host: Host, id: RuntimeId): CgroupFreezer | null {
  return host.freezer === null ? null : new CgroupFreezer(host.freezer, cgroupOf(host, id).path)
}

/** Returns the driver of a class. Throws kind `not_supported` if its runner is missing. */
export function driverOf(host: Host, isolation: Isolation): Driver {
  const driver = host[isolation]
  if (driver === null) throw new EngineError('not_supported', `no runner for the class ${isolation} on this host`)
  return driver
}
