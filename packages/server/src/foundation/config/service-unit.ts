import { readFile } from 'node:fs/promises'

/** The names of units that need no quotes in a command line. */
const unitName = /\/([\w:.@-]+\.service)$/m

/** The facts that systemd and the kernel have about a process. */
export interface StartedHow {
  readonly pid: number
  /**
   * `SYSTEMD_EXEC_PID` (systemd.exec(5)): the process that systemd itself has started. Its children
   * inherit the variable.
   */
  readonly execPid: string | undefined
  /** `/proc/PID/cgroup` (cgroups(7)). */
  readonly cgroup: string
}

/**
 * Returns the unit of systemd whose program a process is, and which starts it again when it ends;
 * null if there is none. The service's cgroup alone is not enough. A process that cron or a job
 * runner starts is in the cgroup of that service, and nothing starts it again.
 */
export function unitOf({ pid, execPid, cgroup }: StartedHow): string | null {
  return execPid === String(pid) ? (unitName.exec(cgroup)?.[1] ?? null) : null
}

/** Returns the unit of systemd whose program this process is; null if there is none. */
export async function ownUnit(): Promise<string | null> {
  // A kernel without cgroups has no unit.
  const cgroup = await readFile('/proc/self/cgroup', 'utf8').catch(() => '')
  return unitOf({ pid: process.pid, execPid: process.env.SYSTEMD_EXEC_PID, cgroup })
}
