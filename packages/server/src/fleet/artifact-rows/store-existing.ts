import type { ArtifactRef, Engine, ImageDigest } from '@holt/engine'
import type { Artifacts } from '../../artifacts/artifacts.ts'
import { pause } from '../../foundation/async/pause.ts'
import type { Log } from '../../foundation/log.ts'
import { lacksFiles } from '../../foundation/rows/files-missing.ts'
import type { Queries, Store } from '../../foundation/store/open-store.ts'
import type { TemplateRow } from '../../foundation/store/tables.ts'

/** The interval at which artifacts that are not stored yet are looked for, in milliseconds. */
const lookMs = 10 * 60_000

/** The parts of a host that stores what it has. */
interface ExistingParts {
  readonly store: Store
  readonly engine: Pick<Engine, 'ability'>
  readonly artifacts: Artifacts
  readonly now: () => number
  readonly log: Log
  readonly closing: AbortSignal
}

/** The files of a template that is ready. */
type Built = Pick<TemplateRow, 'template_id' | 'image_digest' | 'checkpoint_id'>

/**
 * Stores the images and checkpoints of templates and snapshots that are on this host and not in the
 * object store: those of a machine that has joined, and those whose upload has failed. Also stores
 * what the object store has lost. Continues until the service closes, and never rejects.
 */
export async function storeExisting(parts: ExistingParts): Promise<void> {
  const { closing, log } = parts
  while (!closing.aborted) {
    await storeOnce(parts).catch((err: unknown) => {
      // The next look tries again.
      if (!closing.aborted) log.warn({ err }, 'artifacts of this host are not in the object store yet')
    })
    await pause(lookMs, closing)
  }
}

/** Stores what is not stored yet. A failure does not keep the others from it. */
export async function storeOnce(parts: ExistingParts): Promise<void> {
  const { engine, artifacts, closing, log } = parts
  const images = new Set(((await engine.ability('images')?.list()) ?? []).map(({ digest }) => digest as string))
  const here = new Set(((await engine.ability('checkpoints')?.list()) ?? []).map(({ checkpointId }) => checkpointId))
  const templates = await parts.store.db
    .selectFrom('templates')
    .select(['template_id', 'image_digest', 'checkpoint_id'])
    .where('state', '=', 'ready')
    .execute()
  const refs = (await wanted(parts.store.db, templates)).filter(({ kind, id }) =>
    (kind === 'image' ? images : here).has(id),
  )
  const stored = new Set(await artifacts.storedAmong(refs.map(({ id }) => id)))
  for (const ref of refs) {
    if (stored.has(ref.id) || closing.aborted) continue
    await artifacts.store(ref, closing).catch((err: unknown) => {
      // The next look tries again.
      if (!closing.aborted) log.warn({ err, artifact_id: ref.id }, 'an artifact is not in the object store yet')
    })
  }
  await noteClassCheckpoints(parts, { templates, here })
}

/** Returns what all hosts need from the object store. */
async function wanted(db: Queries, templates: readonly Built[]): Promise<readonly ArtifactRef[]> {
  const snapshots = await db
    .selectFrom('snapshots')
    .select(['image_digest', 'checkpoint_id', 'state', 'state_reason_json'])
    .execute()
  const usable = snapshots.filter((row) => row.state === 'ready' || lacksFiles(row))
  const lost = await db
    .selectFrom('artifacts')
    .select(['artifact_id', 'kind'])
    .where('state', '=', 'local')
    .where('host_id', 'is', null)
    .where('unneeded_since', 'is', null)
    .execute()
  const refs = new Map<string, ArtifactRef>()
  for (const { image_digest, checkpoint_id } of [...templates, ...usable]) {
    if (image_digest !== null) refs.set(image_digest, { kind: 'image', id: image_digest as ImageDigest })
    if (checkpoint_id !== null) refs.set(checkpoint_id, { kind: 'checkpoint', id: checkpoint_id })
  }
  for (const { artifact_id, kind } of lost) refs.set(artifact_id, { kind, id: artifact_id } as ArtifactRef)
  return [...refs.values()]
}

/** Notes the checkpoints of templates on this host as those of its class, where it has none. */
async function noteClassCheckpoints(
  { store: { db }, engine, artifacts: { classId }, now }: ExistingParts,
  { templates, here }: { readonly templates: readonly Built[]; readonly here: ReadonlySet<string> },
): Promise<void> {
  if (classId === null) return
  for (const { template_id, image_digest, checkpoint_id } of templates) {
    if (image_digest === null || checkpoint_id === null || !here.has(checkpoint_id)) continue
    const usable = await engine.ability('checkpoints')?.usable(checkpoint_id, { skipFiles: true })
    if (usable?.usable !== true) continue
    await db
      .insertInto('template_checkpoints')
      .values({ template_id, class_id: classId, checkpoint_id, image_digest, made_at: now() })
      .onConflict((conflict) => conflict.columns(['template_id', 'class_id']).doNothing())
      .execute()
  }
}
