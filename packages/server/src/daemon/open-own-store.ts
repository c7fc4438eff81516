import { readdir } from 'node:fs/promises'
import type { Engine } from '@holt/engine'
import { randomText } from '@holt/protocol'
import { referenced } from '../builds/collect.ts'
import { BuildPaths } from '../builds/paths.ts'
import type { ServerConfig } from '../foundation/config/config.ts'
import { readStoreId, writeStoreId } from '../foundation/config/store-file.ts'
import type { Log } from '../foundation/log.ts'
import {
  openStore,
  type Queries,
  type Store,
  type StorePlace,
  storeExists,
  storePlace,
} from '../foundation/store/open-store.ts'
import { storeIdOf } from '../foundation/store/store-id.ts'
import { countMissing, findMissing } from '../runtimes/reconcile/find-missing.ts'

/** An error: the store does not belong to the state directory. */
class ForeignStore extends Error {
  override readonly name = 'ForeignStore'
}

interface OwnStoreOptions {
  readonly config: Pick<ServerConfig, 'stateDir' | 'databaseUrl' | 'adoptStore'> & Partial<Pick<ServerConfig, 'fleet'>>
  readonly engine: Engine
  readonly log: Log
}

/**
 * Opens the store if it belongs to the state directory. Files without a row are removed from the
 * directory, so an empty or foreign store would delete everything. Store and directory get the same
 * id when they first start together. If one of them has no id, they belong together if rows refer
 * to files in the directory. An id is absent if an earlier version made the store, or if the file
 * is lost. A store that refers to files does not belong to a directory without files, unless an
 * import permits it. Throws `ForeignStore`, whose message names the ways out. The directory is
 * unchanged then.
 */
export async function openOwnStore({ config, engine, log }: OwnStoreOptions): Promise<Store> {
  const { stateDir, adoptStore } = config
  const place = storePlace(config)
  const noted = await readStoreId(stateDir)
  if (!adoptStore && !(await storeExists(place))) {
    // Checked before tables are created: an import needs a place without any.
    const belongings = await listBelongings(engine, stateDir)
    if (countOf(belongings) > 0) throw refusal('is empty, and', { place, stateDir, belongings })
  }
  const store = await openStore(place)
  try {
    const id = await storeIdOf(store.db)
    if (id !== null && id === noted) return store
    const belongings = await listBelongings(engine, stateDir)
    const knows = (id === null || noted === null) && (await knowsSome(store.db, belongings))
    // A new host of a fleet has no files.
    const joins = config.fleet != null
    if (countOf(belongings) === 0 && id !== null && !joins)
      await requireFiles(store.db, { place, stateDir, adoptStore, log })
    if (countOf(belongings) > 0 && !knows) {
      if (!adoptStore) throw refusal('is not the one of this state directory: it', { place, stateDir, belongings })
      log.warn(
        countsOf(belongings),
        'HOLT_ADOPT_STORE: files that are not in the store are removed from the state directory',
      )
    }
    await bind({ store, stateDir, id, noted: knows ? noted : null })
    return store
  } catch (error) {
    await store.close()
    throw error
  }
}

/** Gives store and state directory the id that one of them has, or a new one. */
async function bind(parts: {
  readonly store: Store
  readonly stateDir: string
  readonly id: string | null
  readonly noted: string | null
}): Promise<void> {
  const { store, stateDir, noted } = parts
  const id = parts.id ?? (await nameStore(store.db, noted ?? randomText(20)))
  if (id !== noted) await writeStoreId(stateDir, id)
}

/** Gives a store an id, and returns it: that of another host, if both start at the same moment. */
async function nameStore(db: Queries, value: string): Promise<string> {
  const named = db.insertInto('store_facts').values({ name: 'id', value })
  await named.onConflict((conflict) => conflict.column('name').doNothing()).execute()
  return (await storeIdOf(db)) ?? value
}

/**
 * Refuses a directory without any of the store's files, for example one that is not mounted. Base
 * templates do not count, because they are made again.
 */
async function requireFiles(
  db: Queries,
  { place, stateDir, adoptStore, log }: { place: StorePlace; stateDir: string; adoptStore: boolean; log: Log },
): Promise<void> {
  const nothing = { images: new Set<string>(), checkpoints: new Set<string>() }
  const counts = countMissing(await findMissing(db, nothing))
  if (Object.values(counts).every((count) => count === 0)) return
  if (adoptStore) return log.warn(counts, 'HOLT_ADOPT_STORE: the store is used without its missing files')
  const { snapshots, templates, runtimes } = counts
  throw new ForeignStore(
    [
      `the store ${nameOf(place)} lists ${snapshots} snapshots, ${templates} templates and ${runtimes} paused runtimes, and ${stateDir} has none of their files`,
      'Either set HOLT_STATE_DIR and HOLT_DATABASE_URL to a matching pair, mount or copy the missing images/ and checkpoints/, or import a dump of its rows (`holtd import FILE`).',
      'Or continue without these files: HOLT_ADOPT_STORE=1 for one start uses this store, and lists the missing files.',
    ].join('\n'),
  )
}

/** The files in a state directory that are kept while rows refer to them. */
interface Belongings {
  readonly checkpoints: readonly string[]
  readonly images: readonly string[]
  /** Contexts and cache mounts of builds. */
  readonly files: readonly string[]
}

async function listBelongings(engine: Engine, stateDir: string): Promise<Belongings> {
  const paths = new BuildPaths(stateDir)
  const namesIn = (dir: string) => readdir(dir).catch((): string[] => []) // Made by the first build.
  return {
    checkpoints: ((await engine.ability('checkpoints')?.list()) ?? []).map(({ checkpointId }) => checkpointId),
    images: ((await engine.ability('images')?.list()) ?? []).map(({ digest }) => digest),
    files: [...(await namesIn(paths.contexts)), ...(await namesIn(paths.mounts))],
  }
}

function countsOf({ checkpoints, images, files }: Belongings) {
  return { checkpoints: checkpoints.length, images: images.length, files: files.length }
}

function countOf(belongings: Belongings): number {
  return Object.values(countsOf(belongings)).reduce((sum, count) => sum + count, 0)
}

/**
 * Returns true if rows refer to any of the files. Two installations may have the same image, but
 * never the same checkpoint. If there are checkpoints, at least one must be known.
 */
async function knowsSome(db: Queries, { checkpoints, images, files }: Belongings): Promise<boolean> {
  const used = await referenced(db, { isShared: false })
  if (checkpoints.length > 0) return checkpoints.some((id) => used.has(id))
  const contexts = await db.selectFrom('build_contexts').select('context_id').execute()
  const mounts = await db.selectFrom('build_mounts').select('file').execute()
  const known = new Set([...contexts.map(({ context_id }) => `${context_id}.tar`), ...mounts.map(({ file }) => file)])
  return images.some((digest) => used.has(digest)) || files.some((name) => known.has(name))
}

function refusal(
  why: string,
  {
    place,
    stateDir,
    belongings,
  }: { readonly place: StorePlace; readonly stateDir: string; readonly belongings: Belongings },
): ForeignStore {
  const { checkpoints, images, files } = countsOf(belongings)
  return new ForeignStore(
    [
      `the store ${nameOf(place)} ${why} does not list files of ${stateDir}: ${checkpoints} checkpoints, ${images} images, ${files} files of builds`,
      'A service over this store would remove them. Nothing was changed, and runtimes continue.',
      'Either set HOLT_STATE_DIR and HOLT_DATABASE_URL to a matching pair, or fill an empty store (`holtd import FILE`).',
      'Or start over: HOLT_ADOPT_STORE=1 for one start uses this store, and removes the files that it does not list.',
    ].join('\n'),
  )
}

function nameOf(place: StorePlace): string {
  return place.type === 'sqlite' ? place.path : 'in the database of HOLT_DATABASE_URL'
}
