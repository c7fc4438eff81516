import type { Engine } from '@holt/engine'
import { removeRunDir } from '@holt/engine-host'
import type { ServerConfig } from '../foundation/config/config.ts'
import { findDaemon, releaseLock, stopCommand, takeLock } from '../foundation/config/daemon-lock.ts'
import { findHostId, openInstallation } from '../foundation/config/installation.ts'
import { readStoreId } from '../foundation/config/store-file.ts'
import { endedStates } from '../foundation/rows/states.ts'
import { aloneWithService } from '../foundation/store/alone.ts'
import { openStore, type Store, storeExists, storePlace } from '../foundation/store/open-store.ts'
import { storeIdOf } from '../foundation/store/store-id.ts'
import { recordEvent } from '../tenancy/events/record-event.ts'
import { makeLog } from './machine/make-log.ts'
import { openEngine, runDirOf } from './machine/open-engine.ts'

/**
 * The time limit of the listing and of each removal. A runtime that cannot be removed is named, and
 * the others are removed.
 */
const stepTimeoutMs = 60_000

/**
 * Removes every runtime and kernel object of the installation. Templates and keys stay. The daemon
 * must not run. Returns the things that could not be removed.
 */
export async function purge(config: ServerConfig): Promise<readonly string[]> {
  const daemon = await findDaemon(config.stateDir)
  if (daemon !== null) throw new Error(`holtd runs: stop it first (${stopCommand(daemon.unit)})`)
  const installationId = await openInstallation(config.stateDir)
  await takeLock(config.stateDir)
  try {
    await requireOwnStore(config)
    const log = makeLog({ logLevel: 'warn' })
    const engine = await openEngine(config, { installationId, log, guest: 'none' })
    const left = await purgeEngine(engine, config)
    if (left.length === 0) await removeRunDir({ stateDir: config.stateDir, runDir: runDirOf(config, installationId) })
    return left
  } finally {
    await releaseLock(config.stateDir)
  }
}

/**
 * Refuses a store of another state directory, because its runtimes would be marked as removed. If
 * one of them has no id, as before a first start, there is nothing to compare.
 */
export async function requireOwnStore(config: Pick<ServerConfig, 'stateDir' | 'databaseUrl'>): Promise<void> {
  const place = storePlace(config)
  const noted = await readStoreId(config.stateDir)
  if (noted === null || !(await storeExists(place))) return
  const store = await openStore(place)
  try {
    const id = await storeIdOf(store.db)
    if (id === null || id === noted) return
  } finally {
    await store.close()
  }
  throw new Error(
    `the store is not the one of ${config.stateDir}, so nothing was removed: set HOLT_STATE_DIR and HOLT_DATABASE_URL to a matching pair`,
  )
}

/**
 * Removes everything that the engine has of an installation, and always closes the engine. Returns
 * the things that could not be removed.
 */
export async function purgeEngine(
  engine: Engine,
  config: Pick<ServerConfig, 'stateDir' | 'databaseUrl'>,
): Promise<readonly string[]> {
  try {
    const left = await removeEach(await listAll(engine), (id) => engine.remove(id, AbortSignal.timeout(stepTimeoutMs)))
    if (left.length > 0) return left
    const checkpointIds = await markTerminated(await openStore(storePlace(config)), await findHostId(config.stateDir))
    return await removeEach(checkpointIds, async (id) => engine.ability('checkpoints')?.remove(id))
  } finally {
    await engine.close()
  }
}

/** Removes the things in order. Returns the ones that could not be removed. */
async function removeEach(ids: readonly string[], remove: (id: string) => Promise<void>): Promise<readonly string[]> {
  const left: string[] = []
  for (const id of ids) {
    await remove(id).catch((error) => {
      left.push(`${id}: ${error instanceof Error ? error.message : error}`)
    })
  }
  return left
}

async function listAll(engine: Engine): Promise<readonly string[]> {
  const ids: string[] = []
  const stop = new AbortController()
  for await (const observation of engine.observe(AbortSignal.any([stop.signal, AbortSignal.timeout(stepTimeoutMs)]))) {
    if (observation.type === 'listed') break
    if (observation.type === 'present') ids.push(observation.observed.id)
  }
  stop.abort()
  return ids
}

/**
 * Marks the runtimes of all projects as terminated, without those of other hosts of a fleet.
 * Returns the checkpoints of the paused ones.
 */
async function markTerminated(store: Store, hostId: string | null): Promise<readonly string[]> {
  const at = Date.now()
  const checkpointIds = await store.change(aloneWithService, async (changes) => {
    const hosts = await changes.selectFrom('hosts').select('host_id').where('protocol_max', '>', 0).execute()
    const others = ['', ...hosts.map(({ host_id }) => host_id).filter((id) => id !== hostId)]
    const rows = await changes
      .selectFrom('runtimes')
      .select(['project_id', 'runtime_id', 'state', 'pause_checkpoint_id'])
      .where('state', 'not in', endedStates)
      .where(({ eb, or }) => or([eb('host_id', 'is', null), eb('host_id', 'not in', others)]))
      .execute()
    await changes
      .updateTable('runtimes')
      .set(({ eb }) => ({ state: 'terminated', ended_at: at, updated_at: at, revision: eb('revision', '+', 1) }))
      .where('state', 'not in', endedStates)
      .where(({ eb, or }) => or([eb('host_id', 'is', null), eb('host_id', 'not in', others)]))
      .execute()
    await changes
      .deleteFrom('pool_members')
      .where(({ eb, or }) => or([eb('host_id', 'is', null), eb('host_id', 'not in', others)]))
      .execute()
    for (const row of rows) {
      await recordEvent(changes, {
        projectId: row.project_id,
        type: 'runtime.terminated',
        subjectId: row.runtime_id,
        data: {
          from: row.state,
          to: 'terminated',
          reason: { code: 'purged', message: 'The installation was purged.' },
        },
        at,
      })
    }
    return rows.flatMap(({ pause_checkpoint_id }) => pause_checkpoint_id ?? [])
  })
  await store.close()
  return checkpointIds
}
