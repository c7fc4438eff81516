import { createHash } from 'node:crypto'
import { EngineError } from '@holt/engine'

/** The host's root. No user in a container of this engine maps to it. */
export const ROOT = 0

/**
 * The number of users, and of groups, of one container. Its disk stores the same numbers as inside.
 */
export const IDS_OF_RUNTIME = 65_536

/**
 * The host ids for containers. systemd, Docker and Podman use lower ids, and systemd's foreign ids
 * begin above (https://systemd.io/UIDS-GIDS/).
 */
const FIRST_ID = 0x7000_0000
const END_ID = 0x7ffe_0000
const RANGES = (END_ID - FIRST_ID) / IDS_OF_RUNTIME

/**
 * Takes a range and returns its first id. `take` returns false for a range that another runtime of
 * the host has. Installations start at different ranges. Throws kind `unavailable` if every range
 * is taken.
 */
export async function pickIdRange(
  installationId: string,
  take: (firstId: number) => Promise<boolean>,
): Promise<number> {
  const start = createHash('sha256').update(installationId).digest().readUInt32BE() % RANGES
  for (let step = 0; step < RANGES; step += 1) {
    const firstId = FIRST_ID + ((start + step) % RANGES) * IDS_OF_RUNTIME
    if (await take(firstId)) return firstId
  }
  throw new EngineError('unavailable', `all ${RANGES} ranges of user ids are taken: remove containers`)
}
