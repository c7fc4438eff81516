import { readFile } from 'node:fs/promises'

/** Names that stand in a command line as they are. */
const unitName = /\/([\w:.@-]+\.service)$/m

/** What systemd and the kernel say of a process. */
export interface StartedHow {
  readonly pid: number
  /**
   * `SYSTEMD_EXEC_PID` (systemd.exec(5)): the process that systemd itself has started; whatever
   * that one starts inherits the variable.
   */
  readonly execPid: string | undefined
  /** `/proc/PID/cgroup` (cgroups(7)). */
  readonly cgroup: string
}

/**
 * The unit of systemd that a process is the program of, and that starts it again when it ends;
 * null: none. A service's group alone says too little: what cron or a runner of jobs starts is in
 * that service's group, and nobody starts it again.
 */
export function unitOf({ pid, execPid, cgroup }: StartedHow): string | null {
  return execPid === String(pid) ? (unitName.exec(cgroup)?.[1] ?? null) : null
}

/** The unit of systemd that this process is the program of; null: none. */
export async function ownUnit(): Promise<string | null> {
  const cgroup = await readFile('/proc/self/cgroup', 'utf8').catch(() => '') // A kernel without groups has no unit.
  return unitOf({ pid: process.pid, execPid: process.env.SYSTEMD_EXEC_PID, cgroup })
}
