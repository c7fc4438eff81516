import { rm } from 'node:fs/promises'
import { limitReached } from '../foundation/errors/limit-reached.ts'
import type { BuildContextRow } from '../foundation/store/build-tables.ts'
import { dayMs } from '../foundation/time/day.ts'
import type { Builds } from './builds.ts'

/** How long a context is kept that no build uses. */
export const contextKeptMs = dayMs

/** The most contexts of a project that are kept; those that were used longest ago go first. */
const maxOfProject = 200

/** Removes the contexts of every project that nobody has used for as long as they are kept. */
export async function removeOldContexts(service: Builds): Promise<void> {
  const { store, now } = service
  const old = store.db
    .selectFrom('build_contexts')
    .selectAll()
    .where('used_at', '<', now() - contextKeptMs)
  await remove(service, await old.execute())
}

/**
 * Removes the contexts of a project that are too many, or together too large. Those that builds
 * need count first.
 */
export async function removeExcess(service: Builds, projectId: string): Promise<void> {
  const rows = await contextsOf(service, projectId)
  const needed = rows.filter((row) => isNeeded(service, row))
  const others = rows.filter((row) => !needed.includes(row))
  let bytes = bytesOf(needed)
  const excess = others.filter(({ file_bytes }, index) => {
    bytes += file_bytes
    return needed.length + index >= maxOfProject || bytes > service.config.buildContextsBytes
  })
  await remove(service, excess)
}

/**
 * Refuses a context that would not fit beside those that the project's builds have or wait with.
 */
export async function requireContextRoom(
  service: Builds,
  { projectId, bytes }: { projectId: string; bytes: number },
): Promise<void> {
  const rows = await contextsOf(service, projectId)
  const needed = bytesOf(rows.filter((row) => isNeeded(service, row)))
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

/** The contexts of a project, those first that were used last. */
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

/** Returns true if a build uses the context, or waits with it. */
function isNeeded({ builds, holds }: Builds, { context_id }: BuildContextRow): boolean {
  return holds.isHeld(context_id) || builds.needsContext(context_id)
}

/** A context that is needed, or that was used since it was looked at, stays. */
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
