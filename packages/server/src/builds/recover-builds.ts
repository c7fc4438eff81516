import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { aloneWith } from '../foundation/store/alone.ts'
import { releaseResources } from './build-resources.ts'
import type { Builds } from './builds.ts'
import { leaveTemplate, writeEnd } from './end-build.ts'
import { type FailureReason, interrupted } from './failure-reason.ts'

/**
 * Ends the builds of an earlier process of this host, or one of them, because the data to continue
 * them was only in its memory.
 */
export async function failInterrupted(service: Builds, buildId: string | null = null): Promise<void> {
  const { hostId } = service.thisHost
  await endInterrupted(service, { hostId, buildId, reason: interrupted })
}

/** The builds of a host that nothing works on any more. */
interface Interrupted {
  readonly hostId: string
  /** One of them. Default: all. */
  readonly buildId?: string | null
  /** Those of the epochs before this one. Default: all. */
  readonly before?: number
  readonly reason: FailureReason
}

/** Ends builds of a host that have no process, with their events. */
export async function endInterrupted(
  { store, now }: Pick<Builds, 'store' | 'now'>,
  { hostId, buildId = null, before, reason }: Interrupted,
): Promise<void> {
  let open = store.db.selectFrom('builds').selectAll().where('host_id', '=', hostId).where('ended_at', 'is', null)
  if (buildId !== null) open = open.where('build_id', '=', buildId)
  if (before !== undefined) open = open.where('host_epoch', '<', before)
  const at = now()
  const end = { status: 'failed', reason } as const
  // Nothing else ends them: the process that ran them is gone.
  for (const {
    project_id: projectId,
    build_id: buildId,
    template_id: templateId,
    steps_json,
  } of await open.execute()) {
    const more = { reason_json: JSON.stringify(reason), steps_json: endedSteps(steps_json) }
    await store.change(aloneWith(projectId), async (changes) => {
      await writeEnd(changes, { projectId, buildId }, { ...end, at, more })
      await leaveTemplate(changes, { projectId, buildId, templateId }, { end, at })
    })
  }
}

/**
 * Removes the remains of ended builds from the host: runtimes, checkpoints, files. Failures are
 * logged, and retried at the next start.
 */
export async function clearResidue(service: Builds): Promise<void> {
  const { store, log, builds, thisHost } = service
  // The present files are of earlier processes. Later ones are of this process, and may have no row
  // yet.
  const [inContexts, inMounts] = [namesIn(builds.paths.contexts), namesIn(builds.paths.mounts)]
  try {
    const noted = await store.db
      .selectFrom('build_resources')
      .select('build_id')
      .where('host_id', '=', thisHost.hostId)
      .distinct()
      .execute()
    for (const { build_id } of noted) await releaseResources(service, build_id, { forget: true })
    await rm(builds.paths.work, { recursive: true, force: true })
    const contexts = await store.db.selectFrom('build_contexts').select('context_id').execute()
    await removeOthers(
      builds.paths.contexts,
      await inContexts,
      new Set(contexts.map(({ context_id }) => `${context_id}.tar`)),
    )
    const mounts = await store.db.selectFrom('build_mounts').select('file').execute()
    await removeOthers(builds.paths.mounts, await inMounts, new Set(mounts.map(({ file }) => file)))
  } catch (error) {
    log.error({ err: error }, 'the remains of builds of an earlier process could not be removed')
  }
}

/** Returns the names in a directory. A missing or unreadable directory is empty. */
async function namesIn(dir: string): Promise<readonly string[]> {
  return readdir(dir).catch(() => [])
}

/** Removes the files of a directory that are not in a list. */
async function removeOthers(dir: string, names: readonly string[], known: ReadonlySet<string>): Promise<void> {
  for (const name of names) if (!known.has(name)) await rm(join(dir, name), { recursive: true, force: true })
}

/** Returns the steps of a build. Unreadable steps do not prevent its end. */
function stepsIn(json: string): readonly { readonly state: string }[] {
  try {
    return JSON.parse(json)
  } catch {
    return []
  }
}

function endedSteps(json: string): string {
  const steps = stepsIn(json)
  const ended = steps.map((step) => ({
    ...step,
    state: step.state === 'running' ? 'failed' : step.state === 'waiting' ? 'skipped' : step.state,
  }))
  return JSON.stringify(ended)
}
