import { randomText } from '@holt/protocol'

/** A new id of a checkpoint. */
export function makeCheckpointId(): string {
  return `cp${randomText(20)}`
}

/** The checkpoint that goes with a seed or a snapshot, so that one id in a row finds both. */
export function checkpointOf(id: string): string {
  return `cp${id.slice(2)}`
}
