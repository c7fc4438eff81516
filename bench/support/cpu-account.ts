import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The place where this host accounts CPU time by group: the `cpuacct` hierarchy of version 1, or
 * the tree of version 2.
 */
export interface CpuHierarchy {
  readonly version: 1 | 2
  readonly mountPoint: string
}

/**
 * Returns the hierarchy that accounts CPU time, from `/proc/self/mountinfo`
 * (`proc_pid_mountinfo(5)`); null if there is none.
 */
export function cpuHierarchyOf(mountinfo: string): CpuHierarchy | null {
  const mounts = mountsOf(mountinfo)
  const v1 = mounts.find(({ type, options }) => type === 'cgroup' && options.includes('cpuacct'))
  if (v1 !== undefined) return { version: 1, mountPoint: v1.mountPoint }
  const v2 = mounts.find(({ type }) => type === 'cgroup2')
  return v2 === undefined ? null : { version: 2, mountPoint: v2.mountPoint }
}

function mountsOf(mountinfo: string) {
  return mountinfo.split('\n').flatMap((line) => {
    const [left = '', right = ''] = line.split(' - ')
    const mountPoint = left.split(' ')[4]
    const [type = '', , options = ''] = right.split(' ')
    return mountPoint === undefined || !type.startsWith('cgroup')
      ? []
      : [{ mountPoint, type, options: options.split(',') }]
  })
}

/**
 * Returns a group's own CPU time in milliseconds, from `cpuacct.usage` (nanoseconds) or `cpu.stat`
 * (microseconds). It includes processes that have left the group.
 */
export function parseCpuMs(version: 1 | 2, text: string): number {
  return version === 1 ? Number(text.trim()) / 1e6 : Number(/^usage_usec (\d+)$/m.exec(text)?.[1]) / 1e3
}

/**
 * Accounts of CPU time: groups for the daemon with its tools, and for this process with the
 * programs that it starts. Groups count in nanoseconds. They include ended processes, and the
 * processes of a sandbox, for which no parent has waited.
 */
export class CpuAccount implements Disposable {
  readonly hierarchy: CpuHierarchy
  readonly #ownGroup: string
  readonly #made: string[] = []
  readonly #mountPoints: readonly string[]

  constructor(hierarchy: CpuHierarchy, mountPoints: readonly string[]) {
    this.hierarchy = hierarchy
    this.#mountPoints = mountPoints
    this.#ownGroup = ownGroupOf(readFileSync('/proc/self/cgroup', 'utf8'), hierarchy.version)
  }

  /** Opens the account of this host; null if there is none. */
  static open(): CpuAccount | null {
    const mountinfo = readFileSync('/proc/self/mountinfo', 'utf8')
    const hierarchy = cpuHierarchyOf(mountinfo)
    const mountPoints = mountsOf(mountinfo).map((mount) => mount.mountPoint)
    return hierarchy === null ? null : new CpuAccount(hierarchy, mountPoints)
  }

  /**
   * Makes `group` and moves a process and its descendants into it. Later descendants start in it.
   */
  move(pid: number, group: string): void {
    mkdirSync(join(this.hierarchy.mountPoint, group), { recursive: true })
    this.#made.push(group)
    this.#put(pid, group)
    for (const each of descendantsOf(pid)) unlessGone(() => this.#put(each, group))
  }

  /**
   * Returns the CPU time of a group and its subgroups in milliseconds; 0 if the group does not
   * exist yet.
   */
  readMs(group: string): number {
    const file = this.hierarchy.version === 1 ? 'cpuacct.usage' : 'cpu.stat'
    try {
      return parseCpuMs(this.hierarchy.version, readFileSync(join(this.hierarchy.mountPoint, group, file), 'utf8'))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0
      throw error
    }
  }

  /**
   * Moves this process back and removes the groups, including those that runners have made of them
   * in other hierarchies.
   */
  [Symbol.dispose](): void {
    this.#put(process.pid, this.#ownGroup)
    const tops = new Set(this.#made.map((group) => `/${group.split('/').find(Boolean)}`))
    for (const top of tops) for (const point of this.#mountPoints) removeGroups(join(point, top))
  }

  #put(pid: number, group: string): void {
    writeFileSync(join(this.hierarchy.mountPoint, group, 'cgroup.procs'), String(pid))
  }
}

/**
 * Returns the descendants of a process, from `/proc/PID/task/TID/children`
 * (`proc_tid_children(5)`), without those that end meanwhile.
 */
export function descendantsOf(pid: number): readonly number[] {
  const tasks = unlessGone(() => readdirSync(`/proc/${pid}/task`)) ?? []
  const children = tasks.flatMap((task) => {
    const text = unlessGone(() => readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8')) ?? ''
    return text.split(' ').filter(Boolean).map(Number)
  })
  return children.flatMap((child) => [child, ...descendantsOf(child)])
}

/** Returns undefined if the process has ended. */
function unlessGone<Value>(look: () => Value): Value | undefined {
  try {
    return look()
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}

/** Returns the group of a process, from its `/proc/PID/cgroup` (`cgroups(7)`). */
export function ownGroupOf(text: string, version: 1 | 2): string {
  for (const line of text.split('\n')) {
    const [, controllers = '', ...path] = line.split(':')
    const wanted = version === 1 ? controllers.split(',').includes('cpuacct') : line.startsWith('0::')
    if (wanted) return path.join(':')
  }
  return '/'
}

/** Removes a group and its subgroups, because some runners leave groups behind. */
function removeGroups(dir: string): void {
  try {
    for (const entry of readdirSync(dir, { withFileTypes: true }))
      if (entry.isDirectory()) removeGroups(join(dir, entry.name))
    rmdirSync(dir)
  } catch {
    // The group never was in this hierarchy, or still has a process that ends late. A group that is
    // left costs nothing.
  }
}
