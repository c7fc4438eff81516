import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Engine } from '@holt/engine'
import type { ServerConfig } from '../config/config.ts'
import { findDaemon, releaseLock, takeLock } from '../config/daemon-lock.ts'
import { openInstallation } from '../config/installation.ts'
import { recordEvent } from '../events/record-event.ts'
import { endedStates } from '../runtimes/states.ts'
import { openStore, type Store } from '../store/open-store.ts'
import { openEngine } from './open-engine.ts'
import { makeLog } from './serve.ts'

/** Listing and each removal are bounded, so that one runtime that resists is named and does not hang the rest. */
const stepTimeoutMs = 60_000

/** Removes every runtime and kernel object of the installation; templates and keys stay. The daemon must not run. Answers what could not be removed. */
export async function purge(config: ServerConfig): Promise<readonly string[]> {
  if ((await findDaemon(config.stateDir)) !== null) throw new Error('holtd runs: stop it first (holt down)')
  const installationId = await openInstallation(config.stateDir)
  await takeLock(config.stateDir)
  try {
    const log = makeLog({ logLevel: 'warn' })
    const engine = await openEngine(config, { installationId, log, guest: 'none' })
    const left = await removeAll(engine)
    await engine.close()
    if (left.length === 0) {
      await markTerminated(openStore(join(config.stateDir, 'holt.db')))
      await rm(config.runDir ?? join('/run/holt', installationId), { recursive: true, force: true })
    }
    return left
  } finally {
    await releaseLock(config.stateDir)
  }
}

/** Removes every runtime that the engine has. Answers the ids of those it could not. */
export async function removeAll(engine: Engine): Promise<readonly string[]> {
  const left: string[] = []
  for (const id of await listAll(engine)) {
    await engine.remove(id, AbortSignal.timeout(stepTimeoutMs)).catch((error) => {
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

/** The rows of what was removed, of every project. */
async function markTerminated(store: Store): Promise<void> {
  const at = Date.now()
  await store.change(async (changes) => {
    const rows = await changes
      .selectFrom('runtimes')
      .select(['project_id', 'runtime_id', 'state'])
      .where('state', 'not in', endedStates)
      .execute()
    await changes
      .updateTable('runtimes')
      .set(({ eb }) => ({ state: 'terminated', ended_at: at, updated_at: at, revision: eb('revision', '+', 1) }))
      .where('state', 'not in', endedStates)
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
  })
  await store.close()
}
