import type { ArtifactDescription, ArtifactRef } from '@holt/engine'
import { bytesOf, descriptionDigest } from '@holt/engine'
import type { ThisHost } from '../../foundation/host/this-host.ts'
import { aloneWithRow } from '../../foundation/store/alone.ts'
import type { Store } from '../../foundation/store/open-store.ts'

/** The parts of a host that write rows of artifacts. */
interface RowParts {
  readonly store: Store
  readonly thisHost: ThisHost
  readonly now: () => number
}

/** A known artifact, as a host needs it to fetch it. */
export interface KnownArtifact {
  readonly state: 'local' | 'stored'
  readonly hostId: string | null
  readonly classId: string | null
  readonly descriptionDigest: string | null
}

/**
 * The rows of artifacts, as a host that makes one writes them. The order is always: the row, the
 * objects, the state `stored`, the row that refers to it. So no object is without a row, and no row
 * refers to an artifact whose objects are missing.
 */
export class ArtifactRows {
  readonly #parts: RowParts

  constructor(parts: RowParts) {
    this.#parts = parts
  }

  /** Returns the row of an artifact; null if there is none. */
  async find({ id }: ArtifactRef): Promise<KnownArtifact | null> {
    const row = await this.#parts.store.db
      .selectFrom('artifacts')
      .select(['state', 'host_id', 'class_id', 'description_digest'])
      .where('artifact_id', '=', id)
      .executeTakeFirst()
    if (row === undefined) return null
    return {
      state: row.state,
      hostId: row.host_id,
      classId: row.class_id,
      descriptionDigest: row.description_digest,
    }
  }

  /**
   * Keeps a stored artifact for the row that will refer to it: the collector counts its time again.
   * Returns false if it is not stored.
   */
  async pardon({ id }: ArtifactRef): Promise<boolean> {
    const kept = await this.#parts.store.db
      .updateTable('artifacts')
      .set({ unneeded_since: null, condemned_at: null })
      .where('artifact_id', '=', id)
      .where('state', '=', 'stored')
      .returning('artifact_id')
      .executeTakeFirst()
    return kept !== undefined
  }

  /**
   * Writes the row of an artifact before its objects, and takes its objects out of the trash. It
   * waits for a removal of the same objects that has begun.
   */
  async begin(description: ArtifactDescription): Promise<void> {
    const { store, thisHost, now } = this.#parts
    const { ref, files, classId } = description
    const at = now()
    await store.change(aloneWithRow, async (changes) => {
      await changes.deleteFrom('artifact_trash').where('artifact_id', '=', ref.id).execute()
      await changes
        .insertInto('artifacts')
        .values({
          artifact_id: ref.id,
          kind: ref.kind,
          bytes: bytesOf(files),
          class_id: classId,
          description_digest: descriptionDigest(description),
          state: 'local',
          host_id: thisHost.hostId,
          made_at: at,
          stored_at: null,
          unneeded_since: null,
          condemned_at: null,
        })
        .onConflict((conflict) =>
          conflict.column('artifact_id').doUpdateSet({ unneeded_since: null, condemned_at: null }),
        )
        .execute()
    })
  }

  /** Says that the objects of an artifact are there. Returns false if its row was removed. */
  async finish({ id }: ArtifactRef): Promise<boolean> {
    const { store, now } = this.#parts
    const stored = await store.db
      .updateTable('artifacts')
      .set({ state: 'stored', stored_at: now(), unneeded_since: null, condemned_at: null })
      .where('artifact_id', '=', id)
      .returning('artifact_id')
      .executeTakeFirst()
    return stored !== undefined
  }
}
