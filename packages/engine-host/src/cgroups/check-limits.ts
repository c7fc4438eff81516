import { constants } from 'node:fs'
import { access, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type CgroupHost, LIMIT_CONTROLLERS } from './detect-cgroups.ts'

/**
 * A limit this host cannot enforce, and the command that changes that. The command is null if there
 * is none.
 */
export interface MissingLimit {
  readonly reason: string
  readonly fix: string | null
}

/** Returns the first limit this host cannot enforce, or null if it can enforce all. */
export async function findMissingLimit(host: CgroupHost): Promise<MissingLimit | null> {
  for (const controller of LIMIT_CONTROLLERS) {
    const point = host.controllers.get(controller)
    if (point === undefined) {
      return {
        reason: `no cgroup controller "${controller}": boot the kernel with it`,
        fix: null,
      }
    }
    if (!(await isAccessible(point, constants.W_OK))) {
      return {
        reason: `${point} is not writable. In a container that may be impossible to change`,
        fix: `mount -o remount,rw ${point}`,
      }
    }
  }
  return (await swapIsBounded(host))
    ? null
    : { reason: 'swap cannot be limited unless the kernel is booted with swapaccount=1', fix: 'swapoff -a' }
}

/** Returns true if swap is bounded. Memory that may be swapped without bound is not limited. */
async function swapIsBounded(host: CgroupHost): Promise<boolean> {
  const memory = host.controllers.get('memory')
  if (memory === undefined) return false
  if (host.version === 'v2' || (await isAccessible(join(memory, 'memory.memsw.limit_in_bytes'), constants.F_OK)))
    return true
  const swaps = await readFile('/proc/swaps', 'utf8').catch(() => '') // Absent in a kernel without swap.
  return swaps.trim().split('\n').length <= 1
}

/** Returns true if swap has a limit of its own to set. */
export async function hasSwapLimit(host: CgroupHost): Promise<boolean> {
  const memory = host.controllers.get('memory')
  if (memory === undefined) return false
  return host.version === 'v2' || (await isAccessible(join(memory, 'memory.memsw.limit_in_bytes'), constants.F_OK))
}

async function isAccessible(path: string, mode: number): Promise<boolean> {
  try {
    await access(path, mode)
    return true
  } catch {
    return false // Absent, read-only and forbidden paths have the same result here.
  }
}
