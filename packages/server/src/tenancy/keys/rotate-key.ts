import { HoltError } from '@holt/protocol'
import { readCredentials, writeCredentials } from '../../foundation/config/credentials.ts'
import type { Caller } from '../../foundation/request/caller.ts'
import { scopesOf } from '../auth/key-scopes.ts'
import { digestOf, formatOf, makeSecret, prefixOf } from '../auth/key-secret.ts'
import { recordEvent } from '../events/record-event.ts'
import type { Tenancy } from '../tenancy.ts'
import type { SecretKey } from './create-key.ts'
import { endDueTokens } from './end-tokens.ts'
import { enterKey, scopeOfKeys } from './find-key.ts'
import { damagedKey } from './present-key.ts'

/** The key to rotate, the overlap of its secrets, and the caller. */
interface Rotation {
  readonly rotationId: string
  readonly keyId: string
  readonly overlapMs: number
  readonly caller: Caller
}

/**
 * Gives a key a new secret. The present one stays valid for the overlap, and an earlier one ends.
 * Streams are cut when their secret ends. A repeated rotation, whose answer was lost, replaces the
 * secret that nobody has.
 */
export async function rotateKey(
  service: Tenancy,
  { rotationId, keyId, overlapMs, caller }: Rotation,
): Promise<SecretKey> {
  const { store, now, recentKeys, likelyProjects, streams, changesElsewhere } = service
  const at = now()
  const { before, row, secret } = await store.change(scopeOfKeys(caller), async (changes) => {
    const key = await enterKey(changes, caller, keyId)
    if (scopesOf(key) === null) throw damagedKey(key)
    if (key.expires_at !== null && key.expires_at <= at)
      throw new HoltError('conflict', 'The key has expired.', { hint: 'Make a new key.' })
    const again = key.rotation_id === rotationId
    const secret = makeSecret(formatOf(key.prefix))
    const previous = again ? {} : { previous_digest: key.digest, previous_until: at + overlapMs }
    const rotated = await changes
      .updateTable('keys')
      .set({
        prefix: prefixOf(secret),
        digest: digestOf(secret),
        version: again ? key.version : key.version + 1,
        rotation_id: rotationId,
        rotated_at: at,
        ...previous,
      })
      .where('project_id', '=', key.project_id)
      .where('key_id', '=', key.key_id)
      .returningAll()
      .executeTakeFirstOrThrow()
    const data = { by: caller.keyId, overlap_secs: overlapMs / 1000 }
    const { project_id: projectId, key_id: subjectId } = key
    if (!again) await recordEvent(changes, { projectId, type: 'key.rotated', subjectId, data, at })
    return { before: key, row: rotated, secret }
  })
  recentKeys.clear()
  likelyProjects.forget(before.digest, before.previous_digest)
  await streams.look()
  const ended = await endDueTokens(service)
  await changesElsewhere.apply({ type: 'keys', keyIds: [keyId], endsTokens: ended.includes(row.key_id) })
  await keepOnThisMachine(service, { digest: before.digest, secret })
  return { row, secret }
}

/**
 * Updates this machine's credentials if they have the rotated key, so that its clients continue to
 * work.
 */
async function keepOnThisMachine(
  { config: { stateDir }, log }: Tenancy,
  { digest, secret }: { digest: string; secret: string },
): Promise<void> {
  try {
    const credentials = await readCredentials(stateDir)
    if (credentials !== null && digestOf(credentials.key) === digest)
      await writeCredentials(stateDir, { ...credentials, key: secret })
  } catch (error) {
    // The key is rotated anyway. The next start of the service makes another one for this machine.
    log.error({ err: error }, 'the credentials of this machine could not be written')
  }
}
