import type { ObjectStoreConfig } from '../../foundation/config/object-store-settings.ts'
import { type Check, mustFix, ok, warn } from './check.ts'

/** The time for all requests of the check. */
const timeoutMs = 30_000

/**
 * Checks that the object store of the fleet can be written, read and listed. Returns no check for a
 * machine without one.
 */
export async function checkObjectStore(
  settings: ObjectStoreConfig | null,
  env: Readonly<Record<string, string | undefined>>,
): Promise<readonly Check[]> {
  if (settings === null) return []
  const { tryObjectStore } = await import('../../fleet/stored-artifacts/try-object-store.ts')
  const tried = await tryObjectStore(settings, env, AbortSignal.timeout(timeoutMs))
  if (tried.problem !== null)
    return [mustFix('object store', `${tried.problem}. Repair that, and run the check again`, null)]
  const sealing = 'it can be written, read and listed'
  if (settings.artifactKey !== null) return [ok('object store', `${sealing}; artifacts are encrypted`)]
  return [warn('object store', `${sealing}; artifacts are not encrypted: HOLT_ARTIFACT_KEY is not set`)]
}
