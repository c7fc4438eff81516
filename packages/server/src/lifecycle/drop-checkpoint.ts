import type { Service } from '../service.ts'

/** Removes a checkpoint that no row refers to any more, beside what goes on. One that resists is the collector's. */
export function dropCheckpoint({ engine, log }: Service, checkpointId: string): void {
  engine
    .ability('checkpoints')
    ?.remove(checkpointId)
    .catch((err: unknown) => log.warn({ err, checkpoint_id: checkpointId }, 'a checkpoint could not be removed yet'))
}
