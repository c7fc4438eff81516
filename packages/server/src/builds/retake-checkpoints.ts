import { BuildError, finishTemplate } from '@holt/builder'
import type { CheckpointInfo, Checkpoints, ImageDigest } from '@holt/engine'
import { HoltError, makeId } from '@holt/protocol'
import { templateName } from '../foundation/rows/template-name.ts'
import { aloneWith } from '../foundation/store/alone.ts'
import type { TemplateRow } from '../foundation/store/tables.ts'
import { releaseResources } from './build-resources.ts'
import type { Builds } from './builds.ts'
import { type CheckpointRecipe, storedRecipe } from './checkpoint-recipe.ts'
import { checkpointsHere } from './checkpoints-here.ts'
import { openRetakeHost } from './retake-host.ts'
import type { RetakeResult } from './retakes.ts'

/**
 * The time for one checkpoint, in milliseconds. The application starts at most twice, and the
 * runtime may wait for the host's memory before.
 */
const retakeTimeoutMs = 30 * 60_000

/**
 * Takes the checkpoints of built templates again that this host cannot restore, for example after
 * an upgrade of gVisor. Takes one at a time, the smallest first. Until then, and after a failure,
 * runtimes of the template boot cold. Never rejects.
 */
export async function retakeCheckpoints(service: Builds): Promise<void> {
  const { log, closing, retakes } = service
  try {
    const checkpoints = await checkpointsHere(service)
    if (checkpoints === null || closing.aborted) return
    const rows = await findUnusable(service, checkpoints)
    if (rows.length === 0) return
    retakes.expect(rows.length)
    log.info({ templates: rows.length }, 'checkpoints of templates are taken again, one after another')
    for (const row of rows) {
      const result = await retake(service, row)
      if (closing.aborted) return
      retakes.note(result)
    }
    log.info(retakes.counts, 'the checkpoints of templates were taken again')
    service.collector.request()
  } catch (error) {
    // Runtimes boot cold, and the next start tries again.
    if (!closing.aborted) log.error({ err: error }, 'the checkpoints of templates could not be taken again')
  } finally {
    if (retakes.counts.waiting > 0) retakes.leave()
  }
}

/** Returns the ready templates whose checkpoint does not fit this host. */
async function findUnusable({ store }: Builds, checkpoints: Checkpoints): Promise<readonly TemplateRow[]> {
  const rows = await store.db
    .selectFrom('templates')
    .selectAll()
    .where('state', '=', 'ready')
    .where('image_digest', 'is not', null)
    .where('checkpoint_id', 'is not', null)
    .where('start_cmd', 'is not', null)
    .orderBy('memory_mib')
    .orderBy('seq')
    .execute()
  const unusable: TemplateRow[] = []
  for (const row of rows) {
    const { usable } = await checkpoints.usable(row.checkpoint_id ?? '', { skipFiles: true })
    if (!usable) unusable.push(row)
  }
  return unusable
}

/** Takes the checkpoint of one template, and logs a failure. Rejects only if the service closes. */
async function retake(service: Builds, row: TemplateRow): Promise<RetakeResult> {
  const { log, closing } = service
  const of = { template: templateName(row), template_id: row.template_id }
  const recipe = storedRecipe(row)
  if (recipe === null) {
    log.warn(of, 'a checkpoint cannot be taken again: build the template again, until then its runtimes boot cold')
    return 'unknown'
  }
  const failed = (facts: object) => {
    log.warn({ ...of, ...facts }, 'a checkpoint could not be taken again: runtimes of its template boot cold')
    return 'failed' as const
  }
  try {
    const result = await takeAgain(service, row, recipe)
    if (result === 'not kept') return failed({ reason: 'gVisor cannot save what start_cmd opened' })
    if (result === 'taken') log.info(of, 'a checkpoint was taken again')
    return result
  } catch (error) {
    if (closing.aborted) throw error
    if (!(await isCurrent(service, row))) return 'gone'
    // The output of a start command is its tenant's.
    return failed(isOfTenant(error) ? { code: error.code } : { err: error })
  }
}

async function takeAgain(
  service: Builds,
  row: TemplateRow,
  recipe: CheckpointRecipe,
): Promise<'taken' | 'not kept' | 'gone'> {
  const holder = makeId('build')
  const { holds } = service
  const signal = AbortSignal.any([service.closing, AbortSignal.timeout(retakeTimeoutMs)])
  // From here on the image stays, if it is still there: a deletion of the template may come.
  holds.hold(holder, row.image_digest ?? '')
  try {
    if (!(await isCurrent(service, row))) return 'gone'
    await using host = await openRetakeHost(service, { holder, row, policy: recipe.policy, signal })
    const { checkpoint } = await finishTemplate(
      {
        image: { digest: row.image_digest as ImageDigest },
        settings: { env: JSON.parse(row.env_json), user: row.user, workdir: row.workdir },
        request: {
          startCmd: row.start_cmd,
          readyCmd: row.ready_cmd,
          readyTimeoutMs: recipe.ready_timeout_ms,
          cpu: row.cpu,
          memoryMiB: row.memory_mib,
          diskMiB: row.disk_mib,
        },
      },
      host,
      signal,
    )
    if (checkpoint === null) return 'not kept'
    return (await replaceCheckpoint(service, row, checkpoint)) ? 'taken' : 'gone'
  } finally {
    await releaseResources(service, holder, { forget: true })
    holds.release(holder)
  }
}

/** Returns true if the template still has the checkpoint that does not fit. */
async function isCurrent({ store }: Builds, row: TemplateRow): Promise<boolean> {
  const found = await store.db
    .selectFrom('templates')
    .select('template_id')
    .where('project_id', '=', row.project_id)
    .where('template_id', '=', row.template_id)
    .where('checkpoint_id', '=', row.checkpoint_id)
    .executeTakeFirst()
  return found !== undefined
}

/**
 * Points a template to its new checkpoint. Returns false, and changes nothing, if the template was
 * deleted or built meanwhile. Cached results with the old checkpoint fit no build any more.
 */
async function replaceCheckpoint(
  service: Builds,
  row: TemplateRow,
  { checkpointId, sizeBytes }: CheckpointInfo,
): Promise<boolean> {
  const images = (await service.engine.ability('images')?.list()) ?? []
  const image = images.find(({ digest }) => digest === row.image_digest)
  return service.store.change(aloneWith(row.project_id), async (changes) => {
    const changed = await changes
      .updateTable('templates')
      .set((eb) => ({
        checkpoint_id: checkpointId,
        size_bytes: image === undefined ? row.size_bytes : image.sizeBytes + sizeBytes,
        updated_at: service.now(),
        revision: eb('revision', '+', 1),
      }))
      .where('project_id', '=', row.project_id)
      .where('template_id', '=', row.template_id)
      .where('checkpoint_id', '=', row.checkpoint_id)
      .returning('template_id')
      .executeTakeFirst()
    if (changed === undefined) return false
    await changes.deleteFrom('build_resources').where('resource_id', '=', checkpointId).execute()
    await changes
      .deleteFrom('build_cache')
      .where('project_id', '=', row.project_id)
      .where('checkpoint_id', '=', row.checkpoint_id)
      .execute()
    return true
  })
}

function isOfTenant(error: unknown): error is BuildError | HoltError {
  return error instanceof BuildError || error instanceof HoltError
}
