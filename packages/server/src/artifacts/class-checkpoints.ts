import type { Queries } from '../foundation/store/open-store.ts'
import type { TemplateRow } from '../foundation/store/tables.ts'
import type { Artifacts } from './artifacts.ts'

/** The parts of a template that say which checkpoint its runtimes start from. */
type Checkpointed = Pick<TemplateRow, 'template_id' | 'image_digest' | 'checkpoint_id'>

/**
 * Returns the checkpoints of some templates that this host restores, by the id of the template. On
 * a machine that is in no fleet they are those of the rows. A template without a checkpoint has
 * none in any class, so the store is not asked for it.
 */
export async function checkpointsOfClass(
  { isShared, classId }: Artifacts,
  db: Queries,
  templates: readonly Checkpointed[],
): Promise<ReadonlyMap<string, string>> {
  const having = templates.flatMap(({ template_id, image_digest, checkpoint_id }) =>
    checkpoint_id === null ? [] : [{ template_id, image_digest, checkpoint_id }],
  )
  if (!isShared) return new Map(having.map((row) => [row.template_id, row.checkpoint_id]))
  if (having.length === 0 || classId === null) return new Map()
  const rows = await db
    .selectFrom('template_checkpoints')
    .select(['template_id', 'image_digest', 'checkpoint_id'])
    .where('class_id', '=', classId)
    .where(
      'template_id',
      'in',
      having.map(({ template_id }) => template_id),
    )
    .execute()
  const images = new Map(having.map((row) => [row.template_id, row.image_digest]))
  const current = rows.filter((row) => images.get(row.template_id) === row.image_digest)
  return new Map(current.map((row) => [row.template_id, row.checkpoint_id]))
}

/** Returns the checkpoint of a template that this host restores; null if there is none. */
export async function checkpointOfClass(
  artifacts: Artifacts,
  db: Queries,
  template: Checkpointed,
): Promise<string | null> {
  return (await checkpointsOfClass(artifacts, db, [template])).get(template.template_id) ?? null
}

/** The image and the checkpoint that a build has given to a template. */
interface Built {
  readonly templateId: string
  readonly imageDigest: string
  readonly checkpointId: string | null
  readonly at: number
}

/**
 * Replaces the checkpoints of a template by the one that its build took on this host. Hosts of
 * another class take their own. Does nothing on a machine that is in no fleet.
 */
export async function replaceClassCheckpoints(
  { isShared, classId }: Artifacts,
  changes: Queries,
  { templateId, imageDigest, checkpointId, at }: Built,
): Promise<void> {
  if (!isShared) return
  await forgetClassCheckpoints({ isShared }, changes, templateId)
  if (checkpointId === null || classId === null) return
  await changes
    .insertInto('template_checkpoints')
    .values({
      template_id: templateId,
      class_id: classId,
      checkpoint_id: checkpointId,
      image_digest: imageDigest,
      made_at: at,
    })
    .execute()
}

/** Removes the checkpoints of a template in all classes. Does nothing on a machine in no fleet. */
export async function forgetClassCheckpoints(
  { isShared }: Pick<Artifacts, 'isShared'>,
  changes: Queries,
  templateId: string,
): Promise<void> {
  if (!isShared) return
  await changes.deleteFrom('template_checkpoints').where('template_id', '=', templateId).execute()
  await changes.deleteFrom('template_retakes').where('template_id', '=', templateId).execute()
}
