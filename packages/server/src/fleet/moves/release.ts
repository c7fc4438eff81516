import { aloneWithRow } from '../../foundation/store/alone.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import { neededArtifacts, type PausedColumns } from '../../runtimes/lifecycle/needed-artifacts.ts'
import type { Runtimes } from '../../runtimes/runtimes.ts'

/** The columns of a paused runtime of this host. */
export type OwnPaused = PausedColumns & Pick<RuntimeRow, 'project_id' | 'runtime_id'>

/** The way in which a runtime leaves this host. */
interface Leave {
  readonly signal: AbortSignal
  /** The deadline that goes on while it is paused, because its pause is a move. Default: none. */
  readonly expiresAt?: number | null
}

/**
 * The end of a release. `changed`: the runtime was resumed or deleted meanwhile. `unstored`: the
 * fleet has no object store.
 */
export type Released = 'released' | 'changed' | 'unstored'

/**
 * Stores what the resume of a paused runtime needs, and then lets it belong to no host. From that
 * change on, the loss of this host loses nothing of it. Rejects if something could not be stored;
 * the runtime stays this host's then.
 */
export async function release(
  service: Runtimes,
  row: OwnPaused,
  { signal, expiresAt = null }: Leave,
): Promise<Released> {
  const { artifacts, networks, decisions, store, thisHost, log } = service
  // The next host continues both.
  await networks.flushAddresses()
  await decisions.flush()
  const needed = neededArtifacts(row)
  try {
    for (const one of needed) await artifacts.store(one, signal)
  } catch (error) {
    // A resume removes its checkpoint.
    if (await isPausedHere(service, row)) throw error
    return 'changed'
  }
  const stored = new Set(await artifacts.storedAmong(needed.map(({ id }) => id)))
  if (!needed.every(({ id }) => stored.has(id))) return 'unstored'
  const released = await store.change(aloneWithRow, (changes) =>
    changes
      .updateTable('runtimes')
      .set(({ eb }) => ({
        host_id: null,
        host_epoch: null,
        near_host_id: thisHost.hostId,
        expires_at: expiresAt,
        revision: eb('revision', '+', 1),
      }))
      .where('project_id', '=', row.project_id)
      .where('runtime_id', '=', row.runtime_id)
      // A change of other settings meanwhile does no harm, so the revision is not compared.
      .where('state', '=', 'paused')
      .where('image_digest', '=', row.image_digest)
      .where('pause_checkpoint_id', row.pause_checkpoint_id === null ? 'is' : '=', row.pause_checkpoint_id)
      .where('host_id', '=', thisHost.hostId)
      .where('host_epoch', '=', thisHost.epoch)
      .returning('runtime_id')
      .executeTakeFirst(),
  )
  if (released === undefined) return 'changed'
  log.debug({ runtime_id: row.runtime_id }, 'a paused runtime belongs to no host now')
  return 'released'
}

/** Returns true if a runtime is still paused as it was. */
async function isPausedHere(
  { store, thisHost }: Runtimes,
  { project_id, runtime_id, image_digest, pause_checkpoint_id }: OwnPaused,
): Promise<boolean> {
  const now = await store.db
    .selectFrom('runtimes')
    .select(['state', 'image_digest', 'pause_checkpoint_id', 'host_id'])
    .where('project_id', '=', project_id)
    .where('runtime_id', '=', runtime_id)
    .executeTakeFirst()
  return (
    now?.state === 'paused' &&
    now.host_id === thisHost.hostId &&
    now.image_digest === image_digest &&
    now.pause_checkpoint_id === pause_checkpoint_id
  )
}
