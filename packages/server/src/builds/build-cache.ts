import { createWriteStream } from 'node:fs'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { BuildCache, CachedState, CacheMount } from '@holt/builder'
import type { ImageDigest } from '@holt/engine'
import { failpoint } from '@holt/failpoints'
import { randomText } from '@holt/protocol'
import { aloneWith, aloneWithRow } from '../foundation/store/alone.ts'
import { storedJson } from '../foundation/store/stored-json.ts'
import type { BuildUnderWay } from './build-under-way.ts'
import type { Builds } from './builds.ts'

/**
 * The maximum number of bytes of one cache mount. If a build leaves more, the earlier content is
 * kept.
 */
const maxMountBytes = 4 * 2 ** 30

/** Opens the build cache of the project. Entries that a build uses are held until it has ended. */
export function openCache(service: Builds, build: BuildUnderWay): BuildCache {
  return {
    get: (key) => get(service, build, key),
    put: (key, state) => put(service, build, { key, state }),
    openMount: (id, options) => openMount(service, build, { id, ...options }),
  }
}

async function get(
  { store, holds, now, thisHost }: Builds,
  build: BuildUnderWay,
  key: string,
): Promise<CachedState | null> {
  return store.change(aloneWithRow, async (changes) => {
    const row = await changes
      .updateTable('build_cache')
      .set({ used_at: now() })
      .where('project_id', '=', build.projectId)
      .where('key', '=', key)
      .where('host_id', '=', thisHost.hostId)
      .returningAll()
      .executeTakeFirst()
    const facts = row === undefined ? undefined : storedJson(row.facts_json)
    // A damaged row is as one that is not there: the step runs again, and puts another in its
    // place.
    if (row === undefined || facts === undefined) return null
    // Held within the transaction: whoever collects has either seen the row or sees this.
    holds.hold(build.buildId, row.image_digest)
    if (row.checkpoint_id !== null) holds.hold(build.buildId, row.checkpoint_id)
    const common = {
      imageDigest: row.image_digest as ImageDigest,
      sizeBytes: row.size_bytes,
      facts,
    }
    return row.checkpoint_id === null
      ? { type: 'image', ...common }
      : { type: 'checkpoint', checkpointId: row.checkpoint_id, ...common }
  })
}

async function put(
  { store, holds, now, thisHost }: Builds,
  { projectId, buildId }: BuildUnderWay,
  { key, state }: { key: string; state: CachedState },
): Promise<void> {
  const at = now()
  const checkpointId = state.type === 'checkpoint' ? state.checkpointId : null
  await store.change(aloneWithRow, async (changes) => {
    const facts = {
      type: state.type,
      image_digest: state.imageDigest,
      checkpoint_id: checkpointId,
      size_bytes: state.sizeBytes,
      facts_json: JSON.stringify(state.facts ?? null),
      created_at: at,
      used_at: at,
    }
    await changes
      .insertInto('build_cache')
      .values({ project_id: projectId, key, host_id: thisHost.hostId, ...facts })
      .onConflict((conflict) => conflict.columns(['project_id', 'key', 'host_id']).doUpdateSet(facts))
      .execute()
    // From here on the row keeps the checkpoint. The build holds it while it continues from it.
    holds.hold(buildId, state.imageDigest)
    if (checkpointId === null) return
    holds.hold(buildId, checkpointId)
    await changes.deleteFrom('build_resources').where('resource_id', '=', checkpointId).execute()
  })
  await failpoint('build.kept')
}

interface MountWanted {
  readonly id: string
  readonly locked: boolean
  readonly signal: AbortSignal
}

async function openMount(service: Builds, build: BuildUnderWay, wanted: MountWanted): Promise<CacheMount> {
  const { builds, holds } = service
  const { id, locked, signal } = wanted
  const unlock = locked ? await lockMount(service, `${build.projectId}\0${id}`, signal) : () => {}
  try {
    const file = await useMount(service, build, id)
    if (file !== null) holds.hold(build.buildId, file)
    return {
      read: () => (file === null ? null : readMount(builds.paths.mount(file))),
      write: (tar) => writeMount(service, build, { id, tar }),
      [Symbol.asyncDispose]: async () => unlock(),
    }
  } catch (error) {
    unlock()
    throw error
  }
}

/** The end of a tar archive, which is an empty archive by itself. */
const emptyTar = Buffer.alloc(1024)

/**
 * Yields the bytes of a mount's file. The file is opened on the first read: a stream that fails
 * before it has a listener would end the service. Another build that shares the mount may have
 * replaced the file.
 */
async function* readMount(path: string): AsyncGenerator<Uint8Array> {
  const handle = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (handle === null) yield emptyTar
  else yield* handle.createReadStream()
}

/** Locks a mount and returns the function that unlocks it. */
async function lockMount({ builds }: Builds, key: string, signal: AbortSignal): Promise<() => void> {
  const { promise: locked, resolve: onLocked, reject } = Promise.withResolvers<() => void>()
  const onAbort = () => reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  void builds.mounts.run(key, async () => {
    if (signal.aborted) return
    const { promise: done, resolve: unlock } = Promise.withResolvers<void>()
    onLocked(unlock)
    await done
  })
  try {
    signal.throwIfAborted()
    return await locked
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

async function useMount(
  { store, now, thisHost }: Builds,
  { projectId }: BuildUnderWay,
  mountId: string,
): Promise<string | null> {
  const row = await store.db
    .updateTable('build_mounts')
    .set({ used_at: now() })
    .where('project_id', '=', projectId)
    .where('mount_id', '=', mountId)
    .where('host_id', '=', thisHost.hostId)
    .returning('file')
    .executeTakeFirst()
  return row?.file ?? null
}

/** Writes the content to a temporary file, and renames it when it is complete. */
async function writeMount(
  { store, builds, holds, now, thisHost }: Builds,
  { projectId, buildId, reporter, stop }: BuildUnderWay,
  { id, tar }: { id: string; tar: AsyncIterable<Uint8Array> },
): Promise<void> {
  const file = `${randomText(20)}.tar`
  const [path, part] = [builds.paths.mount(file), `${builds.paths.mount(file)}.part`]
  let sizeBytes = 0
  const counted = async function* (chunks: AsyncIterable<Uint8Array>) {
    for await (const chunk of chunks) {
      sizeBytes += chunk.length
      if (sizeBytes > maxMountBytes) throw new MountTooLarge()
      yield chunk
    }
  }
  await mkdir(builds.paths.mounts, { recursive: true, mode: 0o700 })
  try {
    await pipeline(Readable.from(counted(tar)), createWriteStream(part, { mode: 0o600 }), { signal: stop.signal })
  } catch (error) {
    await rm(part, { force: true })
    if (!(error instanceof MountTooLarge)) throw error
    reporter.logOfStep('warn', `the cache mount ${id} has more than ${maxMountBytes / 2 ** 30} GiB and is not kept`)
    return
  }
  holds.hold(buildId, file)
  await rename(part, path)
  await failpoint('build.mount-written')
  const at = now()
  const old = await store.change(aloneWith(projectId), async (changes) => {
    const own = changes.selectFrom('build_mounts').select('file').where('host_id', '=', thisHost.hostId)
    const mine = own.where('project_id', '=', projectId)
    const before = await mine.where('mount_id', '=', id).executeTakeFirst()
    const facts = { file, size_bytes: sizeBytes, used_at: at }
    await changes
      .insertInto('build_mounts')
      .values({ project_id: projectId, mount_id: id, host_id: thisHost.hostId, created_at: at, ...facts })
      .onConflict((conflict) => conflict.columns(['project_id', 'mount_id', 'host_id']).doUpdateSet(facts))
      .execute()
    return before?.file ?? null
  })
  await failpoint('build.mount-stored')
  // Readers of the old file have it open. A reader that starts now finds none, and starts empty.
  if (old !== null) await rm(builds.paths.mount(old), { force: true })
}

class MountTooLarge extends Error {
  override readonly name = 'MountTooLarge'
}
