import { rm } from 'node:fs/promises'
import type { ThisHost } from '../foundation/host/this-host.ts'
import { aloneWithService } from '../foundation/store/alone.ts'
import type { Queries } from '../foundation/store/open-store.ts'
import type { Builds } from './builds.ts'

/** One entry of the cache. */
interface Kept {
  readonly table: 'build_cache' | 'build_mounts' | 'pulled_images'
  readonly projectId: string
  readonly key: string
  readonly sizeBytes: number
  readonly usedAt: number
  /** The ids that a build holds while it uses the entry. */
  readonly ids: readonly string[]
  readonly file: string | null
}

/**
 * Removes the least recently used entries until the rest fits into the cache's size. Entries in use
 * stay.
 */
export async function evictCache(service: Builds): Promise<void> {
  const { store, config, builds, holds, thisHost } = service
  const files = await store.change(aloneWithService, async (changes) => {
    const kept = await listKept(changes, thisHost)
    const victims = chooseVictims(kept, config.buildCacheBytes, (id) => holds.isHeld(id))
    for (const victim of victims) await forget(changes, thisHost, victim)
    return victims.flatMap(({ file }) => file ?? [])
  })
  for (const file of files) await rm(builds.paths.mount(file), { force: true })
}

/**
 * Returns the least recently used entries to remove so that the others fit. Held entries are
 * skipped.
 */
export function chooseVictims<Entry extends Pick<Kept, 'sizeBytes' | 'usedAt' | 'ids'>>(
  kept: readonly Entry[],
  limitBytes: number,
  isHeld: (id: string) => boolean,
): readonly Entry[] {
  let excess = kept.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) - limitBytes
  const victims: Entry[] = []
  for (const entry of kept.toSorted((a, b) => a.usedAt - b.usedAt)) {
    if (excess <= 0) break
    if (entry.ids.some(isHeld)) continue
    victims.push(entry)
    excess -= entry.sizeBytes
  }
  return victims
}

async function listKept(db: Queries, { hostId }: ThisHost): Promise<readonly Kept[]> {
  // The settings of images are not read: a tenant's images could fill the memory with them.
  const facts = ['project_id', 'size_bytes', 'used_at'] as const
  const cached = await db
    .selectFrom('build_cache')
    .select([...facts, 'key', 'checkpoint_id', 'image_digest'])
    .where('host_id', '=', hostId)
    .execute()
  const pulled = await db
    .selectFrom('pulled_images')
    .select([...facts, 'key', 'image_digest'])
    .where('host_id', '=', hostId)
    .execute()
  const mounts = await db
    .selectFrom('build_mounts')
    .select([...facts, 'mount_id', 'file'])
    .where('host_id', '=', hostId)
    .execute()
  const common = (row: { project_id: string; size_bytes: number; used_at: number }) => ({
    projectId: row.project_id,
    sizeBytes: row.size_bytes,
    usedAt: row.used_at,
  })
  return [
    ...cached.map((row) => ({
      ...common(row),
      table: 'build_cache' as const,
      key: row.key,
      ids: [row.checkpoint_id ?? row.image_digest],
      file: null,
    })),
    ...pulled.map((row) => ({
      ...common(row),
      table: 'pulled_images' as const,
      key: row.key,
      ids: [row.image_digest],
      file: null,
    })),
    ...mounts.map((row) => ({
      ...common(row),
      table: 'build_mounts' as const,
      key: row.mount_id,
      ids: [row.file],
      file: row.file,
    })),
  ]
}

async function forget(db: Queries, { hostId }: ThisHost, { table, projectId, key }: Kept): Promise<void> {
  const own = db.deleteFrom(table).where('project_id', '=', projectId).where('host_id', '=', hostId)
  await own.where(table === 'build_mounts' ? 'mount_id' : 'key', '=', key).execute()
}
