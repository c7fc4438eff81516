import { type Quotas, quotaNames } from '@holt/protocol'
import type { ServerConfig } from '../../foundation/config/config.ts'
import { reservedMemoryMiB } from '../../foundation/config/system-reserve.ts'
import { type Check, mustFix, ok, warn } from './check.ts'
import type { MachineFacts } from './facts.ts'

/** The resources that projects share. */
export interface HostSizes {
  readonly memoryMiB: number
  readonly cpus: number
  /** The size of the state directory's disk. */
  readonly diskMiB: number
}

/** Compares the default quotas of a project with the total that runtimes of this host may have. */
export function checkQuotas(config: Pick<ServerConfig, 'projectQuotas' | 'reserve'>, host: HostSizes): Check {
  const { projectQuotas: quotas, reserve } = config
  const memoryMiB = host.memoryMiB - reservedMemoryMiB(reserve, host.memoryMiB)
  const diskMiB = host.diskMiB - reserve.diskMiB
  if (memoryMiB <= 0) return nothingLeft('memory', 'HOLT_RESERVE_MEMORY')
  if (diskMiB <= 0) return nothingLeft('disk', 'HOLT_RESERVE_DISK')
  const unlimited = quotaNames.filter((name) => quotas[name] === null)
  if (unlimited.length === quotaNames.length)
    return ok('quotas', 'none by default: a project may take all that the host has (HOLT_PROJECT_QUOTAS)')
  const excesses = [
    excess('vCPUs', quotas.cpu, host.cpus),
    excess('MiB of memory', quotas.memory_mib, memoryMiB),
    excess('MiB of disk', diskQuotaMiB(quotas), diskMiB),
  ].filter((text) => text !== null)
  if (excesses.length > 0) {
    const limits = `cpu=${host.cpus},memory_mib=${memoryMiB},disk_mib=${diskMiB}`
    const message = `a single project may take more than this host can give to runtimes: ${excesses.join('; ')}`
    return warn('quotas', `${message}; set at most ${limits} in HOLT_PROJECT_QUOTAS`)
  }
  const rest = unlimited.length === 0 ? '' : `; without a limit: ${unlimited.join(', ')}`
  return ok('quotas', `no single project may take more than the host has, for all limited quotas${rest}`)
}

/**
 * Checks that the disks of runtimes are bounded. The host's file system needs no quotas for that.
 */
export function checkDiskQuotas({
  filesystems,
  hasLoopDevices,
}: Pick<MachineFacts, 'filesystems' | 'hasLoopDevices'>): Check {
  if (!filesystems.has('ext4') || !hasLoopDevices)
    return warn('disk quotas', 'disks of runtimes need ext4 and loop devices to have a fixed size')
  return ok('disk quotas', "each runtime's disk is an ext4 file system of its size, which bounds it")
}

/**
 * Returns the disk quota of a project, or null if none is set. Disks, snapshots and templates share
 * one disk.
 */
function diskQuotaMiB({ disk_mib, snapshot_bytes, template_bytes }: Quotas): number | null {
  const limits = [disk_mib, toMiB(snapshot_bytes), toMiB(template_bytes)].filter((limit) => limit !== null)
  return limits.length === 0 ? null : limits.reduce((sum, limit) => sum + limit, 0)
}

function toMiB(bytes: number | null): number | null {
  return bytes === null ? null : Math.ceil(bytes / 2 ** 20)
}

function excess(what: string, quota: number | null, there: number): string | null {
  return quota === null || quota <= there ? null : `${quota} ${what} of ${there}`
}

function nothingLeft(what: string, setting: string): Check {
  return mustFix('quotas', `${setting} leaves runtimes no ${what}: every create would be refused`, `unset ${setting}`)
}
