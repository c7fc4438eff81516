import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { service } from './facts.ts'
import { cgroupsOf, processesOf } from './host.ts'
import { until } from './until.ts'

/** Kills all processes of a runtime. The daemon of its installation may not run. */
export async function killRuntime(id: string, installationId = service.installationId): Promise<void> {
  for (const group of cgroupsOf(id, installationId)) thaw(group)
  await until('its processes are gone', async () => {
    const pids = processesOf(id, installationId)
    for (const pid of pids) tryKill(pid)
    return pids.length === 0
  })
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
