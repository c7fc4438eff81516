import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cgroupsOf, processesOf } from '../../e2e/support/host.ts'
import { until } from '../../e2e/support/until.ts'

/**
 * Kills all processes of a runtime and removes its mounts below a directory, as a reboot does. No
 * daemon may run.
 */
export async function loseRuntime(id: string, dir: string): Promise<void> {
  for (const group of cgroupsOf(id)) thaw(group)
  await until('its processes are gone', async () => {
    const pids = processesOf(id)
    for (const pid of pids) tryKill(pid)
    return pids.length === 0
  })
  for (const group of cgroupsOf(id)) execFileSync('rmdir', [group])
  unmountBelow(dir)
}

/** Unmounts everything below a directory, the newest first. */
export function unmountBelow(dir: string): void {
  const points = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
  for (const point of points.filter((one) => one.startsWith(`${dir}/`)).reverse()) execFileSync('umount', [point])
}

/**
 * Thaws a cgroup, because frozen processes do not end (cgroup v1: `freezer.state`, v2:
 * `cgroup.freeze`).
 */
function thaw(group: string): void {
  const [v1, v2] = [join(group, 'freezer.state'), join(group, 'cgroup.freeze')]
  if (existsSync(v1)) writeFileSync(v1, 'THAWED')
  if (existsSync(v2)) writeFileSync(v2, '0')
}

function tryKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended meanwhile.
  }
}
