import type { Runtimes } from '../runtimes.ts'

/** Removes a checkpoint without a row. If that fails, the collector tries again. Never rejects. */
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
