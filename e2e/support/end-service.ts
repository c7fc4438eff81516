import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Lane } from './lane.ts'
import { removeRig } from './rig/start-rig.ts'
import { runService, stopService } from './service-process.ts'

/**
 * Ends the service of a lane that an interrupted run has left, with its runtimes and its Internet.
 * Throws if something of it stays. Succeeds if there is nothing.
 */
export async function endService(lane: Lane): Promise<void> {
  await stopService('SIGTERM', lane)
  if (existsSync(join(lane.stateDir, 'installation.json'))) {
    const { code, output } = await runService('purge', 0, lane)
    if (code !== 0) throw new Error(`purge of ${lane.stateDir} failed with ${code}: ${output}`)
  }
  await removeRig(lane)
}
