import type { Runtimes } from '../runtimes.ts'

/**
 * Removes a checkpoint that no row refers to any more. One that resists is the collector's: this
 * never rejects.
 */
export async function dropCheckpoint(
  { engine, log }: Pick<Runtimes, 'engine' | 'log'>,
  checkpointId: string,
): Promise<void> {
  try {
    await engine.ability('checkpoints')?.remove(checkpointId)
  } catch (err) {
    log.warn({ err, checkpoint_id: checkpointId }, 'a checkpoint could not be removed yet')
  }
}
