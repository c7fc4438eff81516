import { readdir } from 'node:fs/promises'
import { findFreezer } from './cgroups/cgroup-freezer.ts'
import { detectCgroups } from './cgroups/detect-cgroups.ts'
import { cgroupParentOf, RuntimeCgroup } from './cgroups/runtime-cgroup.ts'
import { hasCode } from './files/durable-files.ts'
import { isRuntimeId, layoutOf } from './installation/layout.ts'
import type { HostEngineOptions } from './installation/options.ts'

type Installation = Pick<HostEngineOptions, 'stateDir' | 'runDir' | 'installationId' | 'cgroupParent'>

/**
 * Kills the processes of all runtimes of an installation that no engine has open, including frozen
 * ones. Everything else stays. It is for a machine that is about to shut down: the next start finds
 * the runtimes as after a power failure. Returns the runtimes that still run, each with the reason.
 */
export async function haltRuntimes(options: Installation): Promise<readonly string[]> {
  const cgroups = await detectCgroups()
  const freezer = await findFreezer(cgroups)
  const ids = await idsIn(layoutOf(options.stateDir, options.runDir).runtimes)
  const ended = await Promise.allSettled(
    ids.map((id) => new RuntimeCgroup({ cgroups, freezer }, cgroupParentOf(options), id).kill()),
  )
  return ended.flatMap((result, index) => (result.status === 'fulfilled' ? [] : [`${ids[index]}: ${result.reason}`]))
}

async function idsIn(dir: string): Promise<readonly string[]> {
  try {
    return (await readdir(dir)).filter(isRuntimeId)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [] // No engine has ever been opened.
    throw error
  }
}
