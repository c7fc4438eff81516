import type { Api } from '../../api/api.ts'
import { idNotFound } from '../../foundation/errors/not-found.ts'
import { findRuntime, type RuntimeRef } from '../../foundation/rows/find-runtime.ts'
import { isAlive } from '../../foundation/rows/states.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'

/**
 * Returns a project's runtime that is there for clients of E2B: it has run, and has not ended. All
 * others are not found.
 */
export async function findLive(service: Api, ref: RuntimeRef): Promise<RuntimeRow> {
  const row = await findRuntime(service, ref)
  if (row.state === 'starting' || !isAlive(row.state)) throw idNotFound('runtime_not_found', ref.runtimeId)
  return row
}

/** Returns a project's running runtime. A paused one is not found. */
export async function findLiveRunning(service: Api, ref: RuntimeRef): Promise<RuntimeRow> {
  const row = await findLive(service, ref)
  if (row.state !== 'running') throw idNotFound('runtime_not_found', ref.runtimeId)
  return row
}
