import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cgroupsOf } from '../../e2e/support/host.ts'
import { killRuntime } from '../../e2e/support/kill-runtime.ts'

/**
 * Kills all processes of a runtime and removes its mounts below a directory, as a reboot does. No
 * daemon may run.
 */
export async function loseRuntime(id: string, dir: string): Promise<void> {
  await killRuntime(id)
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
