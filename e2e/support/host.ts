import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { service } from './facts.ts'
import { findService } from './service-process.ts'

/** The cgroups of a runtime, one for each hierarchy of the host. */
export function cgroupsOf(runtimeId: string, installationId = service.installationId): string[] {
  const root = '/sys/fs/cgroup'
  const hierarchies = [root, ...readdirSync(root).map((name) => join(root, name))]
  return hierarchies.flatMap((hierarchy) => {
    try {
      return readdirSync(hierarchy, { withFileTypes: true })
        .filter((entry) => entry.isDirectory() && entry.name.includes(installationId))
        .map((entry) => join(hierarchy, entry.name, runtimeId))
        .filter((path) => readdirSync(path).length > 0)
    } catch {
      return [] // Not a hierarchy, or not one that this runtime is in.
    }
  })
}

/** Every process of a runtime, as the host sees it. */
export function processesOf(runtimeId: string, installationId = service.installationId): number[] {
  const lines = cgroupsOf(runtimeId, installationId).flatMap((path) => {
    try {
      return readFileSync(join(path, 'cgroup.procs'), 'utf8').split('\n')
    } catch {
      return [] // The group went while it was looked at, and its processes with it.
    }
  })
  return [...new Set(lines.filter((line) => line !== '').map(Number))]
}

/**
 * The process that is the runtime: the guest as pid 1 of its namespace, or the sandbox that holds
 * it.
 */
export function initOf(runtimeId: string): number {
  const pid = processesOf(runtimeId).find((candidate) => {
    const command = readFileSync(`/proc/${candidate}/cmdline`, 'utf8').split('\0')
    if (command.some((part) => part.startsWith('runsc')) && command.includes('boot')) return true
    return (
      /^NSpid:.*\s1$/m.test(readFileSync(`/proc/${candidate}/status`, 'utf8')) &&
      command.some((part) => part.includes('holt-guest'))
    )
  })
  if (pid === undefined) throw new Error(`no init of ${runtimeId}`)
  return pid
}

/** Processor time the runtime has used, in nanoseconds, counted by the kernel. */
export function cpuTimeOf(runtimeId: string): number {
  for (const path of cgroupsOf(runtimeId)) {
    const names = readdirSync(path)
    if (names.includes('cpuacct.usage')) return Number(readFileSync(join(path, 'cpuacct.usage'), 'utf8'))
    const used = names.includes('cpu.stat')
      ? /^usage_usec (\d+)$/m.exec(readFileSync(join(path, 'cpu.stat'), 'utf8'))?.[1]
      : undefined
    if (used !== undefined) return Number(used) * 1000
  }
  throw new Error('no cgroup counts processor time')
}

/**
 * The length of all periods in which the limit of processor time stopped the runtime, in
 * nanoseconds.
 */
export function throttledPeriodsOf(runtimeId: string): number {
  for (const path of cgroupsOf(runtimeId)) {
    const [v1, v2] = [join(path, 'cpu.cfs_period_us'), join(path, 'cpu.max')]
    const periodFile = [v1, v2].find((file) => existsSync(file))
    if (periodFile === undefined) continue
    const periodUs = Number(readFileSync(periodFile, 'utf8').trim().split(' ').at(-1))
    const count = /^nr_throttled (\d+)$/m.exec(readFileSync(join(path, 'cpu.stat'), 'utf8'))?.[1]
    if (count !== undefined) return Number(count) * periodUs * 1000
  }
  throw new Error('no cgroup limits processor time')
}

/**
 * Returns true if the kernel runs nothing of the runtime (freezer of cgroup v1, `cgroup.freeze` of
 * v2).
 */
export function isFrozen(runtimeId: string): boolean {
  return cgroupsOf(runtimeId).some((path) => {
    const [v1, v2] = [join(path, 'freezer.state'), join(path, 'cgroup.events')]
    if (existsSync(v1)) return readFileSync(v1, 'utf8').trim() === 'FROZEN'
    return existsSync(v2) && /^frozen 1$/m.test(readFileSync(v2, 'utf8'))
  })
}

/** Resident memory of the daemon in MiB: now, and at its highest since `forgetPeakMemory`. */
export function daemonMemory(): { readonly nowMiB: number; readonly peakMiB: number } {
  const status = readFileSync(`/proc/${daemonPid()}/status`, 'utf8')
  const read = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) / 1024
  return { nowMiB: read('VmRSS'), peakMiB: read('VmHWM') }
}

/** Makes the daemon's peak its present memory (proc_pid_clear_refs(5)). */
export function forgetPeakMemory(): void {
  writeFileSync(`/proc/${daemonPid()}/clear_refs`, '5')
}

/** The daemon's pid; fails when it has exited. */
export function daemonPid(): number {
  const pid = findService()
  if (pid === null) throw new Error('holtd has exited')
  return pid
}
