import type { Checkpoints } from '@holt/engine'
import type { Builds } from './builds.ts'

/** Returns the checkpoints of this host, or null if it cannot restore runtimes. */
export async function checkpointsHere({ engine }: Builds): Promise<Checkpoints | null> {
  const { gvisor } = (await engine.describe()).isolation
  return gvisor.available && gvisor.canCheckpoint ? engine.ability('checkpoints') : null
}
