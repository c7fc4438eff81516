import { randomText } from '@holt/protocol'

/** Returns a new id of a checkpoint. */
export function makeCheckpointId(): string {
  return `cp${randomText(20)}`
}

/** Returns the id of the checkpoint of a seed or a snapshot, so that one id in a row finds both. */
export function checkpointOf(id: string): string {
  return `cp${id.slice(2)}`
}
