import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Mount, readMounts } from '../mounts/mount-table.ts'

/** The controllers that a runtime's limits need. */
export const LIMIT_CONTROLLERS = ['cpu', 'memory', 'pids'] as const

/**
 * The cgroups of this host. In `hybrid` the controllers are version 1, and a version 2 tree holds
 * none.
 */
export interface CgroupHost {
  readonly version: 'v1' | 'v2' | 'hybrid' | 'none'
  /** The mount point of each limit's controller; in version 2 all have the same one. */
  readonly controllers: ReadonlyMap<string, string>
  /** Every mounted hierarchy, including those without limits: runners make a group in each. */
  readonly hierarchies: readonly string[]
}

/**
 * Returns the kind of host from its mounts and the controllers of the version 2 tree
 * (`cgroup.controllers`).
 */
export function cgroupHostOf(
  mounts: readonly Mount[],
  unifiedControllers: (point: string) => readonly string[],
): CgroupHost {
  const v1 = mounts.filter((mount) => mount.type === 'cgroup')
  const v2 = mounts.filter((mount) => mount.type === 'cgroup2')
  const controllers = new Map<string, string>()
  for (const mount of v1) {
    for (const option of mount.superOptions) {
      if (!controllers.has(option)) controllers.set(option, mount.point)
    }
  }
  for (const mount of v2) {
    for (const controller of unifiedControllers(mount.point)) {
      if (!controllers.has(controller)) controllers.set(controller, mount.point)
    }
  }
  const hierarchies = [...new Set([...v1, ...v2].map((mount) => mount.point))]
  const version = v1.length > 0 ? (v2.length > 0 ? 'hybrid' : 'v1') : v2.length > 0 ? 'v2' : 'none'
  return { version, controllers, hierarchies }
}

/** Reads the kind of this host. */
export async function detectCgroups(): Promise<CgroupHost> {
  const mounts = await readMounts()
  const unified = new Map<string, readonly string[]>()
  for (const mount of mounts) {
    if (mount.type !== 'cgroup2') continue
    const text = await readFile(join(mount.point, 'cgroup.controllers'), 'utf8').catch(() => '') // Absent means none.
    unified.set(mount.point, text.split(/\s+/).filter(Boolean))
  }
  return cgroupHostOf(mounts, (point) => unified.get(point) ?? [])
}
