import { type CheckpointInfo, type Checkpoints, EngineError } from '@holt/engine'
import type { GuestClient } from '@holt/guest-client'
import { bootSeed, type Seed } from './seed-runtime.ts'

/**
 * The time for a checkpoint, in milliseconds. Memory and files are written to the disk, which takes
 * seconds for each GiB.
 */
const checkpointTimeoutMs = 600_000

/**
 * Takes the checkpoint of a seed and checks that it can be restored. Returns null if either fails
 * because of the application.
 */
export async function keepSeed(
  guest: GuestClient,
  seed: Seed,
  checkpoints: Checkpoints,
): Promise<CheckpointInfo | null> {
  const signal = AbortSignal.any([seed.signal, AbortSignal.timeout(checkpointTimeoutMs)])
  const runsNothing = seed.finishing.request.startCmd === null
  const checkpointId = await seed.host.newCheckpointId()
  await guest.quiesce(signal, { force: true })
  let taken: CheckpointInfo
  try {
    taken = await checkpoints.take(seed.id, checkpointId, signal)
  } catch (error) {
    signal.throwIfAborted()
    if (runsNothing || !(error instanceof EngineError) || error.kind !== 'failed') throw error
    return null
  }
  if (runsNothing || (await restores({ ...seed, signal }, checkpointId))) return taken
  await checkpoints.remove(checkpointId)
  return null
}

/**
 * Returns true if a runtime can be made from the checkpoint. gVisor detects some resources that it
 * cannot restore only then.
 */
async function restores(seed: Seed, checkpointId: string): Promise<boolean> {
  const { host } = seed
  await using runtime = await host.newRuntime()
  await bootSeed({ ...seed, id: runtime.id }, checkpointId)
  return (await host.engine.inspect(runtime.id))?.restored === true
}
