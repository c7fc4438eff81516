import { rm } from 'node:fs/promises'
import type { Service } from '../service.ts'
import type { BuildContextRow } from '../store/build-tables.ts'

/** How long a context is kept that no build uses. */
export const contextKeptMs = 24 * 3600 * 1000

/** The most contexts of a project that are kept; those that were used longest ago go first. */
const maxOfProject = 200

/** Removes the contexts of every project that nobody has used for as long as they are kept. */
export async function removeOldContexts(service: Service): Promise<void> {
  const { store, now } = service
  const old = store.db
    .selectFrom('build_contexts')
    .selectAll()
    .where('used_at', '<', now() - contextKeptMs)
  await remove(service, await old.execute())
}

/** Removes the contexts of a project that are too many. */
export async function removeExcess(service: Service, projectId: string): Promise<void> {
  const excess = service.store.db
    .selectFrom('build_contexts')
    .selectAll()
    .where('project_id', '=', projectId)
    .orderBy('used_at', 'desc')
    .limit(1000)
    .offset(maxOfProject)
  await remove(service, await excess.execute())
}

/** A context that a build has, or waits with, or that was used since it was looked at, stays. */
async function remove({ store, builds }: Service, rows: readonly BuildContextRow[]): Promise<void> {
  for (const { project_id, context_id, used_at } of rows) {
    if (builds.holds.isHeld(context_id) || builds.needsContext(context_id)) continue
    const { numDeletedRows } = await store.db
      .deleteFrom('build_contexts')
      .where('project_id', '=', project_id)
      .where('context_id', '=', context_id)
      .where('used_at', '=', used_at)
      .executeTakeFirst()
    if (numDeletedRows > 0n) await rm(builds.paths.context(context_id), { force: true })
  }
}
