import { rm } from 'node:fs/promises'
import { limitReached } from '../foundation/errors/limit-reached.ts'
import type { BuildContextRow } from '../foundation/store/build-tables.ts'
import { dayMs } from '../foundation/time/day.ts'
import type { Builds } from './builds.ts'

/** The time for which an unused context is kept, in milliseconds. */
export const contextKeptMs = dayMs

/** The maximum number of contexts of a project. The least recently used ones are removed first. */
const maxOfProject = 200

/** Removes the contexts of every project that were unused for longer than they are kept. */
export async function removeOldContexts(service: Builds): Promise<void> {
  const { store, now } = service
  const old = store.db
    .selectFrom('build_contexts')
    .selectAll()
    .where('used_at', '<', now() - contextKeptMs)
  await remove(service, await old.execute())
}

/**
 * Removes the contexts of a project above its limits of number and bytes. Contexts that builds need
 * are counted first.
 */
export async function removeExcess(service: Builds, projectId: string): Promise<void> {
  const rows = await contextsOf(service, projectId)
  const elsewhere = await neededElsewhere(service, projectId)
  const needed = rows.filter((row) => isNeeded(service, row) || elsewhere.has(row.context_id))
  const others = rows.filter((row) => !needed.includes(row))
  let bytes = bytesOf(needed)
  const excess = others.filter(({ file_bytes }, index) => {
    bytes += file_bytes
    return needed.length + index >= maxOfProject || bytes > service.config.buildContextsBytes
  })
  await remove(service, excess)
}

/** Throws if a context does not fit beside those that the project's builds use. */
export async function requireContextRoom(
  service: Builds,
  { projectId, bytes }: { projectId: string; bytes: number },
): Promise<void> {
  const rows = await contextsOf(service, projectId)
  const elsewhere = await neededElsewhere(service, projectId)
  const needed = bytesOf(rows.filter((row) => isNeeded(service, row) || elsewhere.has(row.context_id)))
  const limit = service.config.buildContextsBytes
  if (needed + bytes <= limit) return
  throw limitReached(
    'quota_exceeded',
    `The contexts of a project may take ${limit} bytes; its builds need ${needed}, and this one has ${bytes}.`,
    {
      limit,
      used: needed,
      hint: 'Exclude unneeded files (.dockerignore), or wait until builds have ended.',
    },
  )
}

/** Returns the contexts of a project, the most recently used first. */
async function contextsOf({ store }: Builds, projectId: string): Promise<readonly BuildContextRow[]> {
  return store.db
    .selectFrom('build_contexts')
    .selectAll()
    .where('project_id', '=', projectId)
    .orderBy('used_at', 'desc')
    .execute()
}

function bytesOf(rows: readonly BuildContextRow[]): number {
  return rows.reduce((sum, { file_bytes }) => sum + file_bytes, 0)
}

/** Returns true if a running or queued build uses the context. */
function isNeeded({ builds, holds }: Builds, { context_id }: BuildContextRow): boolean {
  return holds.isHeld(context_id) || builds.needsContext(context_id)
}

/** Returns the contexts of builds that run or wait on other hosts of a fleet. */
async function neededElsewhere({ hosts, store }: Builds, projectId: string): Promise<ReadonlySet<string | null>> {
  if (hosts.rows.length === 0) return new Set()
  const rows = await store.db
    .selectFrom('builds')
    .select('context_id')
    .where('project_id', '=', projectId)
    .where('ended_at', 'is', null)
    .execute()
  return new Set(rows.map(({ context_id }) => context_id))
}

/** Removes contexts, except those that a build needs or that were used meanwhile. */
async function remove(service: Builds, rows: readonly BuildContextRow[]): Promise<void> {
  const { store, builds } = service
  for (const row of rows) {
    if (isNeeded(service, row)) continue
    const { project_id, context_id, used_at } = row
    const { numDeletedRows } = await store.db
      .deleteFrom('build_contexts')
      .where('project_id', '=', project_id)
      .where('context_id', '=', context_id)
      .where('used_at', '=', used_at)
      .executeTakeFirst()
    if (numDeletedRows > 0n) await rm(builds.paths.context(context_id), { force: true })
  }
}
