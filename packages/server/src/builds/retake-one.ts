import { BuildError, finishTemplate } from '@holt/builder'
import type { CheckpointInfo, ImageDigest } from '@holt/engine'
import { HoltError, makeId } from '@holt/protocol'
import { fetchFiles } from '../artifacts/artifacts.ts'
import { templateName } from '../foundation/rows/template-name.ts'
import type { TemplateRow } from '../foundation/store/tables.ts'
import { releaseResources } from './build-resources.ts'
import type { Builds } from './builds.ts'
import { type CheckpointRecipe, storedRecipe } from './checkpoint-recipe.ts'
import { openRetakeHost } from './retake-host.ts'
import type { RetakeResult } from './retakes.ts'

/**
 * The time for one checkpoint, in milliseconds. The application starts at most twice, and the
 * runtime may wait for the host's memory before.
 */
const retakeTimeoutMs = 30 * 60_000

/**
 * Gives a template its new checkpoint. Returns false, and changes nothing, if the template was
 * deleted or built meanwhile.
 */
export type KeepCheckpoint = (row: TemplateRow, checkpoint: CheckpointInfo, signal: AbortSignal) => Promise<boolean>

/** Takes the checkpoint of one template, and logs a failure. Rejects only if the service closes. */
export async function retake(service: Builds, row: TemplateRow, keep: KeepCheckpoint): Promise<RetakeResult> {
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
    const result = await takeAgain(service, row, { recipe, keep })
    if (result === 'not kept') return failed({ reason: 'gVisor cannot save what start_cmd opened' })
    if (result === 'taken') log.info(of, 'a checkpoint was taken again')
    return result
  } catch (error) {
    if (closing.aborted) throw error
    if (!(await isCurrent(service, row))) return 'gone'
    if (error instanceof HoltError && error.code === 'unavailable') {
      log.warn({ ...of, err: error }, 'a checkpoint cannot be taken now: a later create of its template tries again')
      return 'later'
    }
    // The output of a start command is its tenant's.
    return failed(isOfTenant(error) ? { code: error.code } : { err: error })
  }
}

async function takeAgain(
  service: Builds,
  row: TemplateRow,
  { recipe, keep }: { readonly recipe: CheckpointRecipe; readonly keep: KeepCheckpoint },
): Promise<'taken' | 'not kept' | 'gone'> {
  const holder = makeId('build')
  const { holds } = service
  const signal = AbortSignal.any([service.closing, AbortSignal.timeout(retakeTimeoutMs)])
  // From here on the image stays, if it is still there: a deletion of the template may come.
  holds.hold(holder, row.image_digest ?? '')
  try {
    if (!(await isCurrent(service, row))) return 'gone'
    await fetchFiles(service.artifacts, { imageDigest: row.image_digest ?? '', checkpointId: null }, signal)
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
    return (await keep(row, checkpoint, signal)) ? 'taken' : 'gone'
  } finally {
    await releaseResources(service, holder, { forget: true })
    holds.release(holder)
  }
}

/** Returns true if the template still has the files for which a checkpoint is taken. */
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

function isOfTenant(error: unknown): error is BuildError | HoltError {
  return error instanceof BuildError || error instanceof HoltError
}
