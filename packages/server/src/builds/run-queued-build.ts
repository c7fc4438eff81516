import type { BuildRequest, BuildResult } from '@holt/builder'
import { BuildError } from '@holt/builder'
import { failpoint } from '@holt/failpoints'
import type { BuildStatus } from '@holt/protocol'
import { pause } from '../foundation/async/pause.ts'
import { bringContext } from './bring-context.ts'
import { makeBuildHost } from './build-host.ts'
import { releaseResources } from './build-resources.ts'
import { BuildStop, type BuildUnderWay } from './build-under-way.ts'
import type { Builds } from './builds.ts'
import { endBuild, finishBuild } from './end-build.ts'
import { reasonOf } from './failure-reason.ts'
import { findContext } from './find-context.ts'

/**
 * The time for a stopped build to release its resources, in milliseconds. They are removed
 * afterwards.
 */
const graceMs = 1_000

/** The first pause before the end of a build is written again, and the longest, in milliseconds. */
const firstRetryMs = 1_000
const maxRetryMs = 30_000

/**
 * Runs a build and records its result. Never rejects. Afterwards, only resources with a row and
 * held images are left.
 */
export async function runQueuedBuild(service: Builds, build: BuildUnderWay): Promise<void> {
  const { log, builds } = service
  const { buildId } = build
  const begunAt = performance.now()
  let status: BuildStatus = 'ready'
  const work: Work = { settled: Promise.resolve(), isSettled: true }
  try {
    const result = await carryOut(service, build, work)
    await failpoint('build.carried-out')
    await finishBuild(service, build, result)
    await failpoint('build.finished')
  } catch (error) {
    status = await endOtherwise(service, build, error)
  }
  service.metrics.work.noteBuild({ result: status, seconds: (performance.now() - begunAt) / 1000 })
  await releaseResources(service, buildId, { forget: work.isSettled })
  // A builder that ends later may have made something since. Its ids stay recorded until then.
  if (!work.isSettled) void work.settled.then(() => releaseResources(service, buildId, { forget: true }))
  build.reporter.end()
  await builds.logs.close(buildId).catch((error: unknown) => {
    log.warn({ err: error, build_id: buildId }, 'the end of the log of a build could not be written')
  })
}

/** The work of the builder for a build. Empty at first. */
interface Work {
  settled: Promise<unknown>
  isSettled: boolean
}

async function carryOut(service: Builds, build: BuildUnderWay, work: Work): Promise<BuildResult> {
  const { signal } = build.stop
  signal.throwIfAborted()
  await failpoint('build.begun')
  build.reporter.status('pulling')
  const request = await requestOf(service, build)
  await using host = await makeBuildHost(service, build)
  const result = service.builds.builder.run(request, host, signal)
  work.isSettled = false
  work.settled = result
    .catch(() => {}) // Whoever waits for the result sees the failure.
    .finally(() => {
      work.isSettled = true
    })
  return await orStopped(service, build, result)
}

/**
 * Waits for the work of a build. After a stop, the work has a moment to end by itself. Then its
 * runtimes are removed, which ends every wait.
 */
async function orStopped(service: Builds, { buildId, stop: { signal } }: BuildUnderWay, work: Promise<BuildResult>) {
  const { promise: forced, reject } = Promise.withResolvers<never>()
  let timer: NodeJS.Timeout | null = null
  const onStop = () => {
    void releaseResources(service, buildId, { forget: false })
    timer = setTimeout(() => reject(signal.reason), graceMs)
  }
  signal.addEventListener('abort', onStop, { once: true })
  if (signal.aborted) onStop()
  try {
    return await Promise.race([work, forced])
  } finally {
    signal.removeEventListener('abort', onStop)
    if (timer !== null) clearTimeout(timer)
  }
}

async function requestOf(service: Builds, build: BuildUnderWay): Promise<BuildRequest> {
  const { store, holds, now } = service
  const { projectId, buildId, prepared } = build
  const { request, size, policyKey } = prepared
  const { context_id, registry_auth } = request
  const context = context_id === undefined ? null : await findContext(store.db, { projectId, contextId: context_id })
  if (context !== null) {
    holds.hold(buildId, context.context_id)
    await store.db
      .updateTable('build_contexts')
      .set({ used_at: now() })
      .where('project_id', '=', projectId)
      .where('context_id', '=', context.context_id)
      .execute()
  }
  const path = context === null ? '' : await bringContext(service, context, build.stop.signal)
  return {
    buildId,
    source: sourceOf(build),
    buildArgs: request.build_args,
    buildSecrets: request.build_secrets,
    registryAuth: registry_auth === undefined ? null : { ...registry_auth, registry: registry_auth.registry ?? null },
    context: context === null ? null : { path, sha256: context.sha256 },
    noCache: request.no_cache,
    cpu: size.cpu,
    memoryMiB: size.memoryMiB,
    diskMiB: size.diskMiB,
    startCmd: request.start_cmd ?? null,
    readyCmd: request.ready_cmd ?? null,
    readyTimeoutMs: request.ready_timeout_secs * 1000,
    timeoutMs: request.timeout_secs * 1000,
    env: request.env,
    user: request.user ?? null,
    workdir: request.workdir ?? null,
    policyKey,
  }
}

function sourceOf({ prepared: { request } }: BuildUnderWay): BuildRequest['source'] {
  const { dockerfile, from_image, from_template, from_snapshot, target, steps = [] } = request
  if (dockerfile !== undefined) return { type: 'dockerfile', text: dockerfile, target: target ?? null }
  if (from_image !== undefined) return { type: 'image', reference: from_image, steps }
  if (from_snapshot !== undefined) return { type: 'snapshot', reference: from_snapshot, steps }
  return { type: 'template', reference: from_template ?? '', steps }
}

/**
 * Records the end of a build that is not ready, and returns it. Tries again until the store takes
 * it, because clients wait for the end.
 */
async function endOtherwise(service: Builds, build: BuildUnderWay, error: unknown): Promise<BuildStatus> {
  const { log, closing } = service
  const { buildId, stop } = build
  const stopped = stop.signal.reason instanceof BuildStop ? stop.signal.reason.why : null
  if (stopped === null && !(error instanceof BuildError)) log.error({ err: error, build_id: buildId }, 'a build failed')
  const status = stopped === 'cancelled' ? 'cancelled' : 'failed'
  const reason = status === 'cancelled' ? null : reasonOf(stopped === null ? error : stopped)
  if (reason !== null) {
    // The lines after the first quote output that the log already has.
    const { step, message } = reason
    build.reporter.log({ level: 'error', step, message: message.split('\n', 1)[0] ?? '' })
  }
  for (let pauseMs = firstRetryMs; ; pauseMs = Math.min(2 * pauseMs, maxRetryMs)) {
    try {
      await endBuild(service, build, { status, reason })
      return status
    } catch (failure) {
      log.error({ err: failure, build_id: buildId }, 'the end of a build could not be written')
    }
    // The next start of the service finds the row, and ends it.
    if (closing.aborted) return status
    await pause(pauseMs, closing)
  }
}
