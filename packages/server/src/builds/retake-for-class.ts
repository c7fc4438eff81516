import type { CheckpointInfo } from '@holt/engine'
import { sql } from 'kysely'
import { pause } from '../foundation/async/pause.ts'
import { judgedStates } from '../foundation/host/host-row.ts'
import { readyHosts } from '../foundation/host/ready-hosts.ts'
import { ownedBy } from '../foundation/host/this-host.ts'
import { aloneWith } from '../foundation/store/alone.ts'
import type { TemplateRow } from '../foundation/store/tables.ts'
import type { Builds } from './builds.ts'
import { checkpointsHere } from './checkpoints-here.ts'
import { type KeepCheckpoint, retake } from './retake-one.ts'

/** The interval of looks at the templates whose runtimes had no checkpoint, in milliseconds. */
const lookMs = 1_000

/**
 * Takes the checkpoints that the class of this host lacks: a host of another class has built the
 * template, or gVisor was upgraded. It takes those of templates of which it has made a runtime, one
 * at a time. One host of a class takes a checkpoint, and the others fetch it. Until then, and after
 * a failure, runtimes of the template boot. Continues until the service closes, and never rejects.
 */
export async function retakeForClass(service: Builds): Promise<void> {
  const { closing, log, lackingCheckpoints, artifacts } = service
  const { classId } = artifacts
  if (classId === null || (await checkpointsHere(service).catch(() => null)) === null) return
  while (!closing.aborted) {
    for (const templateId of isReady(service) ? lackingCheckpoints : []) {
      lackingCheckpoints.delete(templateId)
      if (closing.aborted) return
      await retakeOne(service, { templateId, classId }).catch((err: unknown) => {
        // The next create of the template tries again.
        if (!closing.aborted) log.warn({ err, template_id: templateId }, 'a checkpoint could not be looked for')
      })
    }
    await pause(lookMs, closing)
  }
}

/** A template whose checkpoint a class lacks. */
interface Lacking {
  readonly templateId: string
  readonly classId: string
}

/** Returns true if this host takes new work. */
function isReady({ hosts, thisHost }: Builds): boolean {
  return readyHosts(hosts, thisHost.hostId).some(({ host_id }) => host_id === thisHost.hostId)
}

async function retakeOne(service: Builds, lacking: Lacking): Promise<void> {
  const { retakes, collector } = service
  if (!(await claim(service, lacking))) return
  const row = await findLacking(service, lacking)
  if (row === null) return release(service, lacking)
  retakes.expect(1)
  const keep: KeepCheckpoint = (of, checkpoint, signal) =>
    addCheckpoint(service, { row: of, checkpoint, lacking, signal })
  const result = await retake(service, row, keep)
  retakes.note(result)
  // The row of a failure stays: nothing would be different at another host of the class.
  if (result !== 'failed' && result !== 'unknown') await release(service, lacking)
  collector.request()
}

/**
 * Returns true if this host is to take the checkpoint: no host of its class does, or has failed to,
 * in the epoch that it still has.
 */
async function claim({ store, thisHost }: Builds, { templateId, classId }: Lacking): Promise<boolean> {
  const mine = ownedBy(thisHost)
  const claimed = await store.db
    .insertInto('template_retakes')
    .values({ template_id: templateId, class_id: classId, ...mine })
    .onConflict((conflict) =>
      conflict
        .columns(['template_id', 'class_id'])
        .doUpdateSet(mine)
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom('hosts')
                .select(sql`1`.as('one'))
                .whereRef('hosts.host_id', '=', 'template_retakes.host_id')
                .whereRef('hosts.epoch', '=', 'template_retakes.host_epoch')
                .where('hosts.state', 'not in', [...judgedStates]),
            ),
          ),
        ),
    )
    .returning('template_id')
    .executeTakeFirst()
  return claimed !== undefined
}

async function release({ store, thisHost }: Builds, { templateId, classId }: Lacking): Promise<void> {
  const { host_id, host_epoch } = ownedBy(thisHost)
  await store.db
    .deleteFrom('template_retakes')
    .where('template_id', '=', templateId)
    .where('class_id', '=', classId)
    .where('host_id', '=', host_id)
    .where('host_epoch', '=', host_epoch)
    .execute()
}

/** Returns a template with a checkpoint, but none of the class; null if that is so no longer. */
async function findLacking({ store }: Builds, { templateId, classId }: Lacking): Promise<TemplateRow | null> {
  const row = await store.db
    .selectFrom('templates')
    .selectAll()
    .where('template_id', '=', templateId)
    .where('state', '=', 'ready')
    .where('image_digest', 'is not', null)
    .where('checkpoint_id', 'is not', null)
    .where('start_cmd', 'is not', null)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('template_checkpoints')
            .select('checkpoint_id')
            .where('class_id', '=', classId)
            .whereRef('template_checkpoints.template_id', '=', 'templates.template_id')
            .whereRef('template_checkpoints.image_digest', '=', 'templates.image_digest'),
        ),
      ),
    )
    .executeTakeFirst()
  return row ?? null
}

/** Stores a checkpoint, and gives it to the class. Returns false if the template has changed. */
async function addCheckpoint(
  service: Builds,
  {
    row,
    checkpoint: { checkpointId },
    lacking: { templateId, classId },
    signal,
  }: {
    readonly row: TemplateRow
    readonly checkpoint: CheckpointInfo
    readonly lacking: Lacking
    readonly signal: AbortSignal
  },
): Promise<boolean> {
  const { artifacts, store, now } = service
  await artifacts.store({ kind: 'checkpoint', id: checkpointId }, signal)
  return store.change(aloneWith(row.project_id), async (changes) => {
    const current = await changes
      .selectFrom('templates')
      .select('image_digest')
      .where('project_id', '=', row.project_id)
      .where('template_id', '=', templateId)
      .where('state', '=', 'ready')
      .where('build_id', 'is not distinct from', row.build_id)
      .where('checkpoint_id', '=', row.checkpoint_id)
      .executeTakeFirst()
    if (current === undefined || current.image_digest !== row.image_digest) return false
    const added = await changes
      .insertInto('template_checkpoints')
      .values({
        template_id: templateId,
        class_id: classId,
        checkpoint_id: checkpointId,
        image_digest: current.image_digest ?? '',
        made_at: now(),
      })
      .onConflict((conflict) => conflict.columns(['template_id', 'class_id']).doNothing())
      .returning('checkpoint_id')
      .executeTakeFirst()
    if (added === undefined) return false
    await changes.deleteFrom('build_resources').where('resource_id', '=', checkpointId).execute()
    return true
  })
}
