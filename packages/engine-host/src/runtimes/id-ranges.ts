import { createHash } from 'node:crypto'
import { EngineError } from '@holt/engine'

/** The host's root. It maps to nobody in a container of this engine. */
export const ROOT = 0

/** Users, and groups, of one container. Its disk stores the same numbers as inside. */
export const IDS_OF_RUNTIME = 65_536

/**
 * Host ids for containers. systemd, Docker and Podman use ids below, and systemd's foreign ids
 * begin above (https://systemd.io/UIDS-GIDS/).
 */
const FIRST_ID = 0x7000_0000
const END_ID = 0x7ffe_0000
const RANGES = (END_ID - FIRST_ID) / IDS_OF_RUNTIME

/**
 * Returns the first id of a range that no runtime of this installation uses. Installations on one
 * host start at different ranges, so that they overlap only by chance or with thousands of
 * runtimes. Throws kind `unavailable` if every range is taken.
 */
export function pickIdRange(installationId: string, isTaken: (firstId: number) => boolean): number {
  const start = createHash('sha256').update(installationId).digest().readUInt32BE() % RANGES
  for (let step = 0; step < RANGES; step += 1) {
    const firstId = FIRST_ID + ((start + step) % RANGES) * IDS_OF_RUNTIME
    if (!isTaken(firstId)) return firstId
  }
  throw new EngineError('unavailable', `all ${RANGES} ranges of user ids are taken: remove containers`)
}
