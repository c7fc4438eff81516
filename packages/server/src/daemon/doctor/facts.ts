import { constants } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { arch, release, totalmem } from 'node:os'
import { canAccess } from '../../foundation/config/can-access.ts'

/**
 * The facts that the kernel reports of this machine. Checks are functions of it, so that tests can
 * pass any machine.
 */
export interface MachineFacts {
  readonly arch: string
  readonly kernelRelease: string
  readonly memoryMiB: number
  /** The names of the file systems that the kernel has loaded. */
  readonly filesystems: ReadonlySet<string>
  readonly cgroups: CgroupFacts
  readonly hasLoopDevices: boolean
  readonly hasTun: boolean
  /** The actions that seccomp filters support. Empty if the kernel has none. */
  readonly seccompActions: string
  readonly limits: LimitFacts
  /** The destination of core dumps (core(5)). Empty if unknown. */
  readonly corePattern: string
  readonly time: TimeFacts
}

/** The cgroups of this machine. */
export interface CgroupFacts {
  /** The available controllers, with the mount point of each. */
  readonly controllers: ReadonlyMap<string, string>
  /** The mount points that are not writable. */
  readonly readOnly: readonly string[]
  /**
   * The controllers of version 2 that groups below the root do not have. Empty if no version 2 tree
   * has controllers.
   */
  readonly undelegated: readonly string[]
}

/** The limits of the service and its children. Infinite: no limit. */
export interface LimitFacts {
  readonly openFiles: number
  readonly threads: number
  readonly mapsPerProcess: number
  readonly inotifyInstances: number
}

/** The readings of the clocks. */
export interface TimeFacts {
  /** Milliseconds since 1970 UTC. */
  readonly now: number
  /** The start of the machine, as the kernel recorded it and as it is computed from the uptime. */
  readonly bootedAt: number
  readonly countedBootAt: number
}

/** Reads the facts from the kernel. */
export async function readMachineFacts(): Promise<MachineFacts> {
  const [filesystems, seccompActions, corePattern, limits, time, cgroups, hasLoopDevices, hasTun] = await Promise.all([
    read('/proc/filesystems'),
    read('/proc/sys/kernel/seccomp/actions_avail'),
    read('/proc/sys/kernel/core_pattern'),
    readLimits(),
    readTime(),
    readCgroups(),
    canAccess('/dev/loop-control'),
    canAccess('/dev/net/tun'),
  ])
  return {
    arch: arch(),
    kernelRelease: release(),
    memoryMiB: Math.floor(totalmem() / 2 ** 20),
    filesystems: new Set(filesystems.split('\n').map((line) => line.split('\t').at(-1) ?? '')),
    cgroups,
    hasLoopDevices,
    hasTun,
    seccompActions,
    limits,
    corePattern: corePattern.trim(),
    time,
  }
}

/**
 * Reads the available controllers from the mounts (proc_pid_mountinfo(5)) and from
 * `cgroup.controllers`.
 */
async function readCgroups(): Promise<CgroupFacts> {
  const controllers = new Map<string, string>()
  const undelegated: string[] = []
  const known = new Set(['cpu', 'cpuacct', 'memory', 'pids', 'freezer'])
  for (const line of (await read('/proc/mounts')).split('\n')) {
    const [, point = '', type, options = ''] = line.split(' ')
    if (type === 'cgroup') for (const name of options.split(',')) if (known.has(name)) controllers.set(name, point)
    if (type !== 'cgroup2') continue
    const below = (await read(`${point}/cgroup.subtree_control`)).trim().split(/\s+/)
    for (const name of (await read(`${point}/cgroup.controllers`)).trim().split(/\s+/)) {
      if (!known.has(name) || controllers.has(name)) continue
      controllers.set(name, point)
      if (!below.includes(name)) undelegated.push(name)
    }
    // Version 2 accounts and freezes without a controller.
    if (controllers.get('cpu') === point) for (const name of ['cpuacct', 'freezer']) controllers.set(name, point)
  }
  const points = [...new Set(controllers.values())]
  const writable = await Promise.all(points.map((point) => canAccess(point, constants.W_OK)))
  return { controllers, readOnly: points.filter((_, index) => !writable[index]), undelegated }
}

async function readLimits(): Promise<LimitFacts> {
  const limits = await read('/proc/self/limits')
  const hard = /^Max open files\s+\S+\s+(\S+)/m.exec(limits)?.[1] ?? '0'
  return {
    openFiles: hard === 'unlimited' ? Number.POSITIVE_INFINITY : Number(hard),
    threads: Math.min(await readNumber('kernel/threads-max'), await readNumber('kernel/pid_max')),
    mapsPerProcess: await readNumber('vm/max_map_count'),
    inotifyInstances: await readNumber('fs/inotify/max_user_instances'),
  }
}

async function readTime(): Promise<TimeFacts> {
  const uptimeSecs = Number((await read('/proc/uptime')).split(' ')[0])
  const bootSecs = Number(/^btime (\d+)$/m.exec(await read('/proc/stat'))?.[1])
  const now = Date.now()
  return { now, bootedAt: bootSecs * 1000, countedBootAt: now - uptimeSecs * 1000 }
}

/** Returns a setting of the kernel (proc_sys(5)), or infinity if it has none. */
async function readNumber(name: string): Promise<number> {
  const text = (await read(`/proc/sys/${name}`)).trim()
  return text === '' ? Number.POSITIVE_INFINITY : Number(text)
}

async function read(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '') // A missing file has no facts.
}
