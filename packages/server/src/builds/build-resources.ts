import { HoltError, makeId } from '@holt/protocol'
import { makeCheckpointId } from '../checkpoint-id.ts'
import { pause } from '../pause.ts'
import { admit } from '../runtimes/admit.ts'
import { promisedMiB } from '../runtimes/promised.ts'
import type { Service } from '../service.ts'

/** How often a build that waits for memory looks whether there is some. */
const lookMs = 1000

/** Killing a runtime and detaching its disk takes a fraction of a second; what takes longer is tried again by the next start. */
const removeTimeoutMs = 30_000

/** Notes an id for a runtime of a build before it exists, when the host has room for one. A build waits for that, and does not fail. */
export async function noteRuntime(
  service: Service,
  {
    buildId,
    memoryMiB,
    signal,
    onWait,
  }: { buildId: string; memoryMiB: number; signal: AbortSignal; onWait: () => void },
): Promise<string> {
  const id = makeId('runtime')
  for (let told = false; ; told = true) {
    signal.throwIfAborted()
    try {
      await note(service, { id, buildId, memoryMiB })
      return id
    } catch (error) {
      if (
        !(error instanceof HoltError) ||
        error.code !== 'capacity_exhausted' ||
        error.details?.available_mib !== undefined
      )
        throw error
      if (!told) onWait()
      await pause(lookMs, signal)
    }
  }
}

async function note(
  { store, engine, config, starts, freeMemoryMiB }: Service,
  { id, buildId, memoryMiB }: { id: string; buildId: string; memoryMiB: number },
): Promise<void> {
  const [facts, free] = await Promise.all([engine.describe(), freeMemoryMiB()])
  await store.change(async (changes) => {
    admit({
      hostMemoryMiB: facts.memoryMiB,
      diskFreeMiB: facts.diskFreeMiB,
      freeMemoryMiB: free,
      promisedMiB: await promisedMiB(changes),
      starting: starts.size,
      overcommit: config.memoryOvercommit,
      memoryMiB,
    })
    await changes
      .insertInto('build_resources')
      .values({ resource_id: id, build_id: buildId, kind: 'runtime', memory_mib: memoryMiB })
      .execute()
  })
}

/** Notes an id for a checkpoint of a build before it exists. */
export async function noteCheckpoint({ store }: Service, buildId: string): Promise<string> {
  const id = makeCheckpointId()
  await store.db
    .insertInto('build_resources')
    .values({ resource_id: id, build_id: buildId, kind: 'checkpoint', memory_mib: 0 })
    .execute()
  return id
}

/** Removes one thing that a build has made, and forgets it. */
export async function releaseResource(service: Service, id: string, kind: 'runtime' | 'checkpoint'): Promise<void> {
  await removeIt(service, id, kind)
  await service.store.db.deleteFrom('build_resources').where('resource_id', '=', id).execute()
}

/** Removes what there is of a build's runtimes and checkpoints. What cannot be removed stays noted, for the next start. Never rejects. */
export async function releaseResources(
  service: Service,
  buildId: string,
  { forget }: { forget: boolean },
): Promise<void> {
  const { store, log } = service
  try {
    const rows = await store.db.selectFrom('build_resources').selectAll().where('build_id', '=', buildId).execute()
    // What is forgotten later is removed then as well, so a checkpoint can wait: only a runtime keeps a build that was stopped busy.
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
          'what a build made could not be removed; the next start tries again',
        )
  } catch (error) {
    log.error({ err: error, build_id: buildId }, 'what a build made could not be looked up; the next start tries again')
  }
}

async function removeIt({ engine }: Service, id: string, kind: 'runtime' | 'checkpoint'): Promise<void> {
  if (kind === 'runtime') await engine.remove(id, AbortSignal.timeout(removeTimeoutMs))
  else await engine.ability('checkpoints')?.remove(id)
}
