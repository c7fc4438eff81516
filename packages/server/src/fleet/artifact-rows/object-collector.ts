import type { ArtifactRef, ImageDigest } from '@holt/engine'
import { failpoint } from '@holt/failpoints'
import { pause } from '../../foundation/async/pause.ts'
import type { Duties } from '../../foundation/host/duties.ts'
import { aloneWithRow } from '../../foundation/store/alone.ts'
import type { Queries } from '../../foundation/store/open-store.ts'
import { dayMs } from '../../foundation/time/day.ts'
import { type AuditOptions, auditDaily } from './object-audit.ts'

/** The interval of its turns, in milliseconds. */
const turnMs = 10 * 60_000

/**
 * The time between the decision to remove an artifact and the last look, in milliseconds. Every
 * change that could have read the artifact before is over then.
 */
const lastLookMs = 10 * 60_000

/** The time to ask whom the object store belongs to, in milliseconds. */
const claimMs = 20_000

/** The time for the removal of the objects of one artifact, in milliseconds. */
const removeMs = 20_000

/** The parts of the collector. */
export interface CollectorOptions extends AuditOptions {
  /** Returns the id of the database; null if it has none. */
  readonly storeId: () => Promise<string | null>
  /** Returns every image and checkpoint that a row refers to. */
  readonly referenced: (db: Queries) => Promise<ReadonlySet<string>>
}

/**
 * Removes artifacts that no row refers to from the object store. An artifact that nothing has
 * referred to for a day is condemned: it is looked at once more after ten minutes. Then its row
 * becomes trash, and its objects go. Two hosts may do this at the same time, and a crash at any
 * step leaves work for the next turn only.
 */
export class ObjectCollector {
  readonly #options: CollectorOptions

  constructor(options: CollectorOptions) {
    this.#options = options
  }

  /** Takes its turns while this host has the duty and the service runs. Never rejects. */
  async keep({ duties, closing }: { readonly duties: Duties; readonly closing: AbortSignal }): Promise<void> {
    while (!closing.aborted) {
      await pause(turnMs, closing)
      if (closing.aborted || !duties.holds('artifacts')) continue
      await this.turn().catch((err: unknown) => {
        // The next turn goes on where this one has ended.
        this.#options.log.warn({ err }, 'the object store could not be cleaned')
      })
    }
  }

  /** Does what is due now. Throws if the object store belongs to another database. */
  async turn(): Promise<void> {
    await this.#requireOwn()
    await this.#forgetHolds()
    await this.#mark()
    await failpoint('artifact.marked')
    await this.#removeCondemned()
    await this.#emptyTrash()
    await auditDaily(this.#options)
  }

  async #requireOwn(): Promise<void> {
    const { objects } = this.#options
    const storeId = await this.#options.storeId()
    if (storeId === null) throw new Error('the database has no id')
    const owner = await objects.claim(storeId, AbortSignal.timeout(claimMs))
    if (owner !== storeId)
      throw new Error(
        `the object store belongs to the database ${owner}, and this one is ${storeId}: give each fleet a bucket or a prefix of its own. If the other database is not used any more, remove the object database-id`,
      )
  }

  /** Removes the holds of epochs that are over. */
  async #forgetHolds(): Promise<void> {
    const { db } = this.#options.store
    const over = await db
      .selectFrom('artifact_holds')
      .innerJoin('hosts', 'hosts.host_id', 'artifact_holds.host_id')
      .select(['artifact_id', 'holder'])
      .whereRef('hosts.epoch', '>', 'artifact_holds.host_epoch')
      .execute()
    for (const { artifact_id, holder } of over)
      await db
        .deleteFrom('artifact_holds')
        .where('artifact_id', '=', artifact_id)
        .where('holder', '=', holder)
        .execute()
  }

  /** Pardons artifacts that are needed, and marks or condemns others. */
  async #mark(): Promise<void> {
    const { store, referenced, now } = this.#options
    const { rows, used } = await store.atOneMoment(async (db) => ({
      rows: await db.selectFrom('artifacts').select(['artifact_id', 'unneeded_since', 'condemned_at']).execute(),
      used: await referenced(db),
    }))
    const at = now()
    for (const { artifact_id, unneeded_since: since, condemned_at } of rows) {
      const change = store.db.updateTable('artifacts').where('artifact_id', '=', artifact_id)
      if (used.has(artifact_id)) {
        if (since !== null || condemned_at !== null)
          await change.set({ unneeded_since: null, condemned_at: null }).execute()
      } else if (since === null) {
        await change.set({ unneeded_since: at }).where('unneeded_since', 'is', null).execute()
      } else if (condemned_at === null && at - since >= dayMs) {
        await change.set({ condemned_at: at }).where('unneeded_since', '=', since).execute()
        await failpoint('artifact.condemned')
      }
    }
  }

  /** Turns condemned artifacts into trash, if nothing refers to them still. */
  async #removeCondemned(): Promise<void> {
    const { store, referenced, now } = this.#options
    const at = now()
    const due = await store.db
      .selectFrom('artifacts')
      .select(['artifact_id', 'kind', 'condemned_at'])
      .where('condemned_at', '<=', at - lastLookMs)
      .execute()
    if (due.length === 0) return
    const used = await store.atOneMoment(referenced)
    for (const { artifact_id, kind, condemned_at } of due) {
      if (used.has(artifact_id)) continue // The next turn pardons it.
      await store.change(aloneWithRow, async (changes) => {
        const gone = await changes
          .deleteFrom('artifacts')
          .where('artifact_id', '=', artifact_id)
          .where('condemned_at', '=', condemned_at)
          .returning('artifact_id')
          .executeTakeFirst()
        if (gone === undefined) return // A host has made it again.
        await changes
          .insertInto('artifact_trash')
          .values({ artifact_id, kind, condemned_at: at })
          .onConflict((conflict) => conflict.column('artifact_id').doNothing())
          .execute()
      })
      await failpoint('artifact.trashed')
    }
  }

  /**
   * Removes the objects of trash. The row is locked meanwhile: a host that makes the artifact again
   * takes the row away before, or writes the objects afterwards.
   */
  async #emptyTrash(): Promise<void> {
    const { store, objects, log } = this.#options
    const trash = await store.db.selectFrom('artifact_trash').select(['artifact_id', 'kind']).execute()
    for (const { artifact_id, kind } of trash) {
      try {
        await store.change(aloneWithRow, async (changes) => {
          const locked = await changes
            .deleteFrom('artifact_trash')
            .where('artifact_id', '=', artifact_id)
            .returning('artifact_id')
            .executeTakeFirst()
          if (locked === undefined) return
          const ref = { kind, id: artifact_id as ImageDigest } satisfies ArtifactRef
          await objects.remove(ref, AbortSignal.timeout(removeMs))
          await failpoint('artifact.removed')
        })
      } catch (err) {
        // The next turn tries again. Others are removed nevertheless.
        log.warn({ err, artifact_id }, 'objects of an artifact could not be removed')
      }
    }
  }
}
