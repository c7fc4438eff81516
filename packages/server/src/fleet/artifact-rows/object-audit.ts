import type { ArtifactRef, ImageDigest } from '@holt/engine'
import type { Log } from '../../foundation/log.ts'
import type { Queries, Store } from '../../foundation/store/open-store.ts'
import { dayMs } from '../../foundation/time/day.ts'
import type { ArtifactObjects } from './fleet-artifacts.ts'

/** The age of a stray: an object without a row, in milliseconds. No upload takes as long. */
const strayMs = 2 * dayMs

/**
 * The least age of a stored artifact whose manifest is looked for, in milliseconds. A list may show
 * a new object later.
 */
const settledMs = 3600_000

/** The time for one audit, in milliseconds. */
const auditMs = 3600_000

/** The name of the fact that tells when the last audit began. */
const factName = 'objects_audited_at'

/** The parts of an audit. */
export interface AuditOptions {
  readonly store: Store
  readonly objects: ArtifactObjects
  /** Marks what refers to artifacts that are lost, and what has all of its artifacts again. */
  readonly markLost: (ids: ReadonlySet<string>) => Promise<void>
  readonly now: () => number
  readonly log: Log
}

/** The objects of one artifact. */
interface Listed {
  readonly ref: ArtifactRef
  readonly hasManifest: boolean
  /** The time of the last write, in milliseconds by the clock of the store. */
  readonly newestAt: number
}

/**
 * Compares the object store with the rows, once a day:
 *
 * * Objects without a row are strays after two days: their host ended between objects and row, or
 *   the rows are those of an older dump. They get a row that nothing refers to, so they are
 *   collected like any other unneeded artifact.
 * * A stored artifact without a manifest becomes `local` at no host. A host that has it stores it
 *   again. Otherwise the next audit marks the rows that refer to it as `files_missing`.
 */
export async function auditDaily(options: AuditOptions): Promise<void> {
  const { db } = options.store
  const at = options.now()
  const fact = await db.selectFrom('store_facts').select('value').where('name', '=', factName).executeTakeFirst()
  if (fact !== undefined && at - Number(fact.value) < dayMs) return
  await audit(options, at)
  await db
    .insertInto('store_facts')
    .values({ name: factName, value: String(at) })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value: String(at) }))
    .execute()
}

async function audit({ store, objects, markLost, log }: AuditOptions, at: number): Promise<void> {
  const signal = AbortSignal.timeout(auditMs)
  // The list comes first: a row exists before its objects.
  const listed = await listArtifacts(objects, signal)
  const rows = await store.db
    .selectFrom('artifacts')
    .select(['artifact_id', 'kind', 'state', 'host_id', 'stored_at'])
    .execute()
  const trash = await store.db.selectFrom('artifact_trash').select('artifact_id').execute()
  const known = new Set([...rows, ...trash].map(({ artifact_id }) => artifact_id))
  const strays = [...listed.values()].filter(({ ref, newestAt }) => !known.has(ref.id) && at - newestAt >= strayMs)
  for (const { ref } of strays) await adopt(store.db, ref, at)
  if (strays.length > 0) log.info({ count: strays.length }, 'objects without a row are removed in a day')
  const absent = rows.filter(({ artifact_id }) => listed.get(artifact_id)?.hasManifest !== true)
  const lostBefore = absent.filter(({ state, host_id }) => state === 'local' && host_id === null)
  const lostNow: string[] = []
  for (const { artifact_id: id, kind, state, stored_at } of absent) {
    if (state !== 'stored' || stored_at === null || at - stored_at < settledMs) continue
    if (await objects.has({ kind, id: id as ImageDigest }, signal)) continue
    await store.db
      .updateTable('artifacts')
      .set({ state: 'local', host_id: null, stored_at: null })
      .where('artifact_id', '=', id)
      .where('stored_at', '=', stored_at)
      .execute()
    lostNow.push(id)
  }
  if (lostNow.length > 0)
    log.error(
      { ids: lostNow.slice(0, 20), count: lostNow.length },
      'the object store has lost artifacts: hosts that have them store them again',
    )
  await markLost(new Set(lostBefore.map(({ artifact_id }) => artifact_id)))
  await objects.removeUnfinished(new Date(at - strayMs), signal)
}

async function listArtifacts(objects: ArtifactObjects, signal: AbortSignal): Promise<ReadonlyMap<string, Listed>> {
  const all = new Map<string, Listed>()
  for await (const { ref, isManifest, modifiedAt } of objects.list(signal)) {
    const before = all.get(ref.id)
    all.set(ref.id, {
      ref,
      hasManifest: isManifest || before?.hasManifest === true,
      newestAt: Math.max(modifiedAt.getTime(), before?.newestAt ?? 0),
    })
  }
  return all
}

/** Inserts the row of a stray. Its day begins now, and a host that makes it again keeps it. */
async function adopt(db: Queries, { kind, id }: ArtifactRef, at: number): Promise<void> {
  await db
    .insertInto('artifacts')
    .values({
      ...{ artifact_id: id, kind, bytes: 0, class_id: null, description_digest: null },
      ...{ state: 'local', host_id: null, made_at: at, stored_at: null, unneeded_since: at, condemned_at: null },
    })
    .onConflict((conflict) => conflict.column('artifact_id').doNothing())
    .execute()
}
