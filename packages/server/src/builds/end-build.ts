import type { BuildResult } from '@holt/builder'
import type { BuildStatus } from '@holt/protocol'
import { storeFiles } from '../artifacts/artifacts.ts'
import { replaceClassCheckpoints } from '../artifacts/class-checkpoints.ts'
import { aloneWith } from '../foundation/store/alone.ts'
import type { Changes, Queries } from '../foundation/store/open-store.ts'
import type { TemplateRow } from '../foundation/store/tables.ts'
import { redactAll } from '../resources/secrets/redact.ts'
import { recordEvent } from '../tenancy/events/record-event.ts'
import { requireQuotas } from '../tenancy/projects/require-quotas.ts'
import { isFinal } from './build-states.ts'
import { BuildStop, type BuildUnderWay } from './build-under-way.ts'
import type { Builds } from './builds.ts'
import { recipeOf } from './checkpoint-recipe.ts'
import type { FailureReason } from './failure-reason.ts'
import { type BuildRef, buildRow } from './find-build.ts'

/** The end of a build that is not ready. */
export interface OtherEnd {
  readonly status: 'failed' | 'cancelled'
  readonly reason: FailureReason | null
}

/**
 * Gives the result of a build to its template, in one transaction. New runtimes use it. The earlier
 * image is removed when nothing uses it.
 */
export async function finishBuild(service: Builds, build: BuildUnderWay, result: BuildResult): Promise<void> {
  const { reporter, projectId, buildId, templateId } = build
  await reporter.flush()
  // A reader of the log gets all lines before the end.
  await service.builds.logs.flush()
  const files = { imageDigest: result.imageDigest, checkpointId: result.checkpoint?.checkpointId ?? null }
  await storeFiles(service.artifacts, files, build.stop.signal)
  const at = service.now()
  await service.store.change(aloneWith(build.projectId), async (changes) => {
    // A deletion of the template cancels its builds first. A missing row or a late signal shows
    // that.
    if (build.stop.signal.aborted) throw build.stop.signal.reason
    const template = await templateRow(changes, { projectId, templateId })
    if (template === undefined) throw new BuildStop('cancelled')
    const more = keptBytes(result) - (template.size_bytes ?? 0)
    await requireQuotas(service, changes, { projectId, adds: { template_bytes: more } })
    await pointTemplate(changes, { template, build, result, at })
    await replaceClassCheckpoints(service.artifacts, changes, { templateId, ...files, at })
    if (result.checkpoint !== null)
      await changes.deleteFrom('build_resources').where('resource_id', '=', result.checkpoint.checkpointId).execute()
    await writeEnd(changes, build, {
      status: 'ready',
      at,
      more: {
        image_digest: result.imageDigest,
        size_bytes: result.sizeBytes,
        warnings_json: JSON.stringify(result.warnings),
        ignored_json: JSON.stringify(result.ignored),
        steps_json: JSON.stringify(reporter.endedSteps('skipped')),
      },
    })
    await tellTemplate(changes, template, { to: 'ready', buildId, at })
  })
  service.templateProgress.clear(templateId)
  service.builds.logs.notify(buildId)
}

/**
 * Records that a build failed or was cancelled. A ready template is unchanged. A template that was
 * never ready gets the reason, or is removed if no other build makes it.
 */
export async function endBuild(service: Builds, build: BuildUnderWay, end: OtherEnd): Promise<void> {
  const { reporter, templateId, buildId, prepared } = build
  await reporter.flush()
  await service.builds.logs.flush()
  const reason = end.reason === null ? null : (redactAll(end.reason, reporter.redact) as FailureReason)
  await service.store.change(aloneWith(build.projectId), async (changes) => {
    await writeEnd(changes, build, {
      status: end.status,
      at: service.now(),
      more: {
        reason_json: reason === null ? null : JSON.stringify(reason),
        steps_json: JSON.stringify(reporter.endedSteps(end.status === 'failed' ? 'failed' : 'skipped')),
      },
      reason,
    })
    await leaveTemplate(changes, build, { end: { ...end, reason }, at: service.now() })
  })
  if (service.builds.ofTemplate(templateId).length <= 1) service.templateProgress.clear(templateId)
  service.builds.logs.notify(buildId)
  service.log.info(
    { build_id: buildId, template: prepared.request.name, status: end.status, reason: reason?.code },
    'a build ended',
  )
}

/** Writes the end of a build to its row, with its event. An ended build is unchanged. */
export async function writeEnd(
  changes: Changes,
  { projectId, buildId }: BuildRef,
  { status, at, more, reason = null }: { status: BuildStatus; at: number; more: object; reason?: FailureReason | null },
): Promise<void> {
  const row = await buildRow(changes, { projectId, buildId })
  if (row === undefined || isFinal(row.status)) return
  await changes
    .updateTable('builds')
    .set({ ...more, status, ended_at: at })
    .where('project_id', '=', projectId)
    .where('build_id', '=', buildId)
    .execute()
  const data = { from: row.status, to: status, ...(reason === null ? {} : { reason }) }
  await recordEvent(changes, { projectId, type: `build.${status}`, subjectId: buildId, data, at })
}

interface Left {
  readonly end: OtherEnd
  readonly at: number
}

/** Updates a template whose build ended without a result. */
export async function leaveTemplate(
  changes: Changes,
  { projectId, buildId, templateId }: BuildRef & { readonly templateId: string },
  { end, at }: Left,
): Promise<void> {
  const template = await templateRow(changes, { projectId, templateId })
  if (template === undefined || template.image_digest !== null || template.kind === 'system') return
  const others = await changes
    .selectFrom('builds')
    .select('build_id')
    .where('project_id', '=', projectId)
    .where('template_id', '=', templateId)
    .where('build_id', '!=', buildId)
    .where('ended_at', 'is', null)
    .executeTakeFirst()
  if (others !== undefined) return // Another build of it may still make it ready.
  const to = end.status === 'failed' ? 'failed' : template.kind === 'agent' ? 'unbuilt' : 'deleted'
  if (to === 'deleted') {
    await changes
      .deleteFrom('templates')
      .where('project_id', '=', projectId)
      .where('template_id', '=', templateId)
      .execute()
  } else {
    const reason = end.reason === null ? null : { code: end.reason.code, message: end.reason.message.slice(0, 2000) }
    await changes
      .updateTable('templates')
      .set({
        state: to,
        state_reason_json: reason === null ? null : JSON.stringify(reason),
        updated_at: at,
        revision: template.revision + 1,
      })
      .where('project_id', '=', projectId)
      .where('template_id', '=', templateId)
      .execute()
  }
  await tellTemplate(changes, template, { to, buildId, at })
}

/** Returns the bytes on the disk of a template: its image, and the checkpoint of its runtimes. */
function keptBytes({ sizeBytes, checkpoint }: BuildResult): number {
  return sizeBytes + (checkpoint?.sizeBytes ?? 0)
}

async function pointTemplate(
  changes: Queries,
  { template, build, result, at }: { template: TemplateRow; build: BuildUnderWay; result: BuildResult; at: number },
): Promise<void> {
  const { request, size } = build.prepared
  const { settings } = result
  await changes
    .updateTable('templates')
    .set({
      state: 'ready',
      state_reason_json: null,
      source: result.source,
      recipe_digest: build.recipeDigest,
      image_digest: result.imageDigest,
      checkpoint_id: result.checkpoint?.checkpointId ?? null,
      cpu: size.cpu,
      memory_mib: size.memoryMiB,
      disk_mib: size.diskMiB,
      size_bytes: keptBytes(result),
      env_json: JSON.stringify(settings.env),
      user: settings.user,
      workdir: settings.workdir,
      start_cmd: request.start_cmd ?? null,
      ready_cmd: request.ready_cmd ?? null,
      on_restore: request.on_restore ?? null,
      build_id: build.buildId,
      ignored_json: JSON.stringify(result.ignored),
      ports_json: JSON.stringify(settings.ports),
      labels_json: JSON.stringify(settings.labels),
      build_settings_json: JSON.stringify(result.buildSettings),
      checkpoint_recipe_json: recipeOf(build.prepared),
      updated_at: at,
      revision: template.revision + 1,
    })
    .where('project_id', '=', template.project_id)
    .where('template_id', '=', template.template_id)
    .execute()
}

async function templateRow(
  db: Queries,
  { projectId, templateId }: { projectId: string; templateId: string },
): Promise<TemplateRow | undefined> {
  return db
    .selectFrom('templates')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('template_id', '=', templateId)
    .executeTakeFirst()
}

async function tellTemplate(
  changes: Changes,
  { project_id: projectId, template_id: subjectId, state }: TemplateRow,
  { to, buildId, at }: { to: TemplateRow['state'] | 'deleted'; buildId: string; at: number },
): Promise<void> {
  const data = { from: state, to, build_id: buildId }
  await recordEvent(changes, { projectId, type: `template.${to}`, subjectId, data, at })
}
