import type { ArtifactRef, Engine, ImageDigest } from '@holt/engine'
import type { Artifacts } from '../../artifacts/artifacts.ts'
import { pause } from '../../foundation/async/pause.ts'
import type { Log } from '../../foundation/log.ts'
import type { Store } from '../../foundation/store/open-store.ts'

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

/**
 * Stores the images and checkpoints of templates and snapshots that are on this host and not in the
 * object store: those of a machine that has joined, and those whose upload has failed. Continues
 * until the service closes, and never rejects.
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

async function storeOnce({ store, engine, artifacts, now, closing }: ExistingParts): Promise<void> {
  const { db } = store
  const images = new Set(((await engine.ability('images')?.list()) ?? []).map(({ digest }) => digest as string))
  const here = new Set(((await engine.ability('checkpoints')?.list()) ?? []).map(({ checkpointId }) => checkpointId))
  const templates = await db
    .selectFrom('templates')
    .select(['template_id', 'image_digest', 'checkpoint_id'])
    .where('state', '=', 'ready')
    .execute()
  const snapshots = await db
    .selectFrom('snapshots')
    .select(['image_digest', 'checkpoint_id'])
    .where('state', '=', 'ready')
    .execute()
  const rows = [...templates, ...snapshots]
  const refs: ArtifactRef[] = [
    ...rows.flatMap(({ image_digest: id }) =>
      id !== null && images.has(id) ? [{ kind: 'image', id: id as ImageDigest } as const] : [],
    ),
    ...rows.flatMap(({ checkpoint_id: id }) =>
      id !== null && here.has(id) ? [{ kind: 'checkpoint', id } as const] : [],
    ),
  ]
  const stored = new Set(await artifacts.storedAmong(refs.map(({ id }) => id)))
  for (const ref of refs) if (!stored.has(ref.id)) await artifacts.store(ref, closing)
  const { classId } = artifacts
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
