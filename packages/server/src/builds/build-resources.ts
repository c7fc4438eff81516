import { failpoint } from '@holt/failpoints'
import { HoltError, makeId } from '@holt/protocol'
import { pause } from '../foundation/async/pause.ts'
import { ownedBy } from '../foundation/host/this-host.ts'
import { makeCheckpointId } from '../foundation/rows/checkpoint-id.ts'
import { aloneWith, aloneWithRow } from '../foundation/store/alone.ts'
import type { Changes } from '../foundation/store/open-store.ts'
import { admit } from '../runtimes/admission/admit.ts'
import type { Size } from '../runtimes/admission/decide-size.ts'
import { promisedMiB } from '../runtimes/admission/promised.ts'
import { requireQuotas } from '../tenancy/projects/require-quotas.ts'
import type { Builds } from './builds.ts'

/** The interval at which a waiting build checks for free memory, in milliseconds. */
const lookMs = 1000

/**
 * The time that a build waits for quotas while no build of its project has a runtime, in
 * milliseconds. It holds one of the host's places for builds, and only its project can make room.
 */
const idleWaitMs = 60_000

/**
 * The time limit for a removal, in milliseconds. It takes a fraction of a second. The next start
 * tries again.
 */
const removeTimeoutMs = 30_000

/** The size and the project of a build's runtime. */
export interface WantedRuntime extends Size {
  /** The project whose quotas apply. Null for the service's own work. */
  readonly projectId: string | null
  readonly buildId: string
  readonly signal: AbortSignal
  /** Called once if the build has to wait, with the missing resource. */
  readonly onWait: (what: string) => void
}

/**
 * Records an id for a runtime of a build before the runtime exists, when the host and the project's
 * quotas have room. Waits for room. Rejects if there can never be room, or if for a minute the
 * quotas are used by other work than builds.
 */
export async function noteRuntime(service: Builds, wanted: WantedRuntime): Promise<string> {
  const { signal, onWait } = wanted
  const id = makeId('runtime')
  let idleSince: number | null = null
  for (let told = false; ; told = true) {
    signal.throwIfAborted()
    try {
      await note(service, id, wanted)
      await failpoint('build.noted')
      return id
    } catch (error) {
      const what = whatIsMissing(error, wanted)
      if (what === null) throw error
      idleSince = (await isIdle(service, wanted, error)) ? (idleSince ?? service.monotonic()) : null
      if (idleSince !== null && service.monotonic() - idleSince >= idleWaitMs) throw error
      if (!told) onWait(what)
      await pause(lookMs, signal)
    }
  }
}

/** Returns true if a build waits for a quota that no other build of its project can free. */
async function isIdle({ store }: Builds, { projectId }: WantedRuntime, error: unknown): Promise<boolean> {
  if (projectId === null || !(error instanceof HoltError && error.code === 'quota_exceeded')) return false
  const building = await store.db
    .selectFrom('build_resources')
    .innerJoin('builds', 'builds.build_id', 'build_resources.build_id')
    .select('resource_id')
    .where('project_id', '=', projectId)
    .where('kind', '=', 'runtime')
    .executeTakeFirst()
  return building === undefined
}

/**
 * Returns the missing resource that a build may wait for. Null if it can never come, or if the
 * error has another cause.
 */
function whatIsMissing(error: unknown, { cpu, memoryMiB, diskMiB }: WantedRuntime): string | null {
  if (!(error instanceof HoltError)) return null
  if (error.code === 'capacity_exhausted') return 'the host has memory'
  if (error.code !== 'quota_exceeded') return null
  const alone: Readonly<Record<string, number>> = { runtimes: 1, cpu, memory_mib: memoryMiB, disk_mib: diskMiB }
  const { quota, limit } = error.details ?? {}
  return (alone[String(quota)] ?? 0) <= Number(limit) ? "the project's quotas have room" : null
}

async function note(
  service: Builds,
  id: string,
  { projectId, buildId, cpu, memoryMiB, diskMiB }: WantedRuntime,
): Promise<void> {
  const { store, engine, config, starts, arrivals, freeMemoryMiB, thisHost } = service
  const [facts, free] = await Promise.all([engine.describe(), freeMemoryMiB()])
  const change = async (changes: Changes) => {
    const adds = { runtimes: 1, cpu, memory_mib: memoryMiB, disk_mib: diskMiB }
    if (projectId !== null) await requireQuotas(service, changes, { projectId, adds })
    admit({
      hostMemoryMiB: facts.memoryMiB,
      diskFreeMiB: facts.diskFreeMiB,
      freeMemoryMiB: free,
      promisedMiB: await promisedMiB(changes, thisHost, arrivals.begin(store, id, memoryMiB)),
      starting: starts.size,
      overcommit: config.memoryOvercommit,
      reserve: config.reserve,
      memoryMiB,
    })
    await changes
      .insertInto('build_resources')
      .values({
        ...{ resource_id: id, build_id: buildId, kind: 'runtime', memory_mib: memoryMiB, cpu, disk_mib: diskMiB },
        ...ownedBy(thisHost),
      })
      .execute()
  }
  const alone = projectId === null ? aloneWithRow : aloneWith(projectId)
  await arrivals.during(id, () => store.change(alone, change))
}

/** Records an id for a checkpoint of a build before the checkpoint exists. */
export async function noteCheckpoint({ store, thisHost }: Builds, buildId: string): Promise<string> {
  const id = makeCheckpointId()
  await store.db
    .insertInto('build_resources')
    .values({ resource_id: id, build_id: buildId, kind: 'checkpoint', memory_mib: 0, ...ownedBy(thisHost) })
    .execute()
  await failpoint('build.checkpoint-noted')
  return id
}

/** Removes one resource of a build and its record. */
export async function releaseResource(service: Builds, id: string, kind: 'runtime' | 'checkpoint'): Promise<void> {
  await removeIt(service, id, kind)
  await failpoint('build.released')
  await service.store.db.deleteFrom('build_resources').where('resource_id', '=', id).execute()
  await failpoint('build.forgotten')
}

/**
 * Removes the runtimes and checkpoints of a build. A failed removal stays recorded for the next
 * start. Never rejects.
 */
export async function releaseResources(
  service: Builds,
  buildId: string,
  { forget }: { forget: boolean },
): Promise<void> {
  const { store, log } = service
  try {
    const rows = await store.db.selectFrom('build_resources').selectAll().where('build_id', '=', buildId).execute()
    // A checkpoint can wait until the build forgets its resources. Only a runtime keeps a stopped
    // build busy.
    const now = forget ? rows : rows.filter(({ kind }) => kind === 'runtime')
    const ends = await Promise.allSettled(
      now.map(({ resource_id, kind }) =>
        forget ? releaseResource(service, resource_id, kind) : removeIt(service, resource_id, kind),
      ),
    )
    for (const end of ends)
      if (end.status === 'rejected')
        log.error(
          { err: end.reason, build_id: buildId },
          'the results of a build could not be removed; the next start tries again',
        )
  } catch (error) {
    log.error(
      { err: error, build_id: buildId },
      'the results of a build could not be looked up; the next start tries again',
    )
  }
}

async function removeIt({ engine }: Builds, id: string, kind: 'runtime' | 'checkpoint'): Promise<void> {
  if (kind === 'runtime') await engine.remove(id, AbortSignal.timeout(removeTimeoutMs))
  else await engine.ability('checkpoints')?.remove(id)
}
