import { failpoint } from '@holt/failpoints'
import { type CreateRuntime, HoltError } from '@holt/protocol'
import { withFiles } from '../../artifacts/with-files.ts'
import { throwRefusal } from '../../foundation/errors/refuse.ts'
import { isAlive } from '../../foundation/rows/states.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import { decideNetwork } from '../../resources/network/decide-network.ts'
import type { Runtimes } from '../runtimes.ts'
import { claimRuntime } from './claim-runtime.ts'
import type { ImageOf } from './find-source.ts'
import { newRuntimeRow, type RowCreation } from './new-runtime-row.ts'
import { planRuntime } from './plan-runtime.ts'
import { requireRegion } from './require-region.ts'
import { reserveRuntime } from './reserve-runtime.ts'
import { startRuntime } from './start-runtime.ts'

/** The project, the id and the request of a create. */
interface Creation extends RowCreation {
  readonly request: CreateRuntime
  readonly imageOf: ImageOf
}

/** The maximum number of attempts of a create whose source changes during the attempt. */
const maxTries = 5

/**
 * Creates a runtime: decides everything that needs no engine, writes the row, starts the runtime,
 * and returns it running. Nothing exists before the row. Afterwards the row has the result.
 */
export async function createRuntime(service: Runtimes, creation: Creation): Promise<RuntimeRow> {
  requireRegion(service, creation.request, throwRefusal)
  const earlier = await findEarlier(service, creation)
  if (earlier !== null) return earlier
  const startedAt = performance.now()
  using _ = service.pools.creating()
  for (let tries = 0; ; tries += 1) {
    const row = await make(service, creation)
    if (row !== null) return noted(service, row, startedAt)
    if (tries >= maxTries) throw new HoltError('conflict', 'The template changed during each try.')
  }
}

/**
 * Plans a runtime, and claims a pool member or starts a new one. Returns null if its source changed
 * meanwhile, because the image may be gone.
 */
async function make(service: Runtimes, creation: Creation): Promise<RuntimeRow | null> {
  const { projectId, request, imageOf, pauseKind = 'memory' } = creation
  const plan = await planRuntime(service, projectId, { request, imageOf, pauseKind, refuse: throwRefusal })
  const { source, size, deadline, host } = plan
  const network = await decideNetwork(projectId, plan.network, plan.former)
  const row = newRuntimeRow(creation, { source, size, deadline, at: service.now() })
  const reservation = { ...host, network }
  await failpoint('create.decided')
  if (source.lacksCheckpoint === true) service.lackingCheckpoints.add(source.templateId)
  const files = { imageDigest: row.image_digest, checkpointId: row.checkpoint_id ?? null }
  return withFiles(service, { holder: row.runtime_id, ...files }, async () => {
    const claimed = await claimRuntime(service, { row, source, reservation })
    if (claimed !== null) return claimed
    const reserved = await reserveRuntime(service, row, reservation)
    return reserved === null ? null : startRuntime(service, reserved, source)
  })
}

function noted({ metrics }: Runtimes, row: RuntimeRow, startedAt: number): RuntimeRow {
  const { isolation, creation_id, snapshot_id } = row
  const source = creation_id !== null ? 'pool' : snapshot_id !== null ? 'snapshot' : 'template'
  metrics.runtimes.noteCreate({ isolation, source, seconds: (performance.now() - startedAt) / 1000 })
  return row
}

/**
 * Returns the runtime of an earlier attempt with the same id, if that finished and only its answer
 * was lost.
 */
async function findEarlier({ store }: Runtimes, { projectId, runtimeId }: Creation): Promise<RuntimeRow | null> {
  const row = await store.db
    .selectFrom('runtimes')
    .selectAll()
    .where('project_id', '=', projectId)
    .where(({ eb, or }) => or([eb('runtime_id', '=', runtimeId), eb('creation_id', '=', runtimeId)]))
    .executeTakeFirst()
  if (row === undefined) return null
  // A runtime that has started exists, though it may be paused by now.
  if (row.started_at !== null && isAlive(row.state)) return row
  throw new HoltError('unavailable', 'The service stopped while it made this runtime.', {
    hint: 'Send it again under another Idempotency-Key.',
  })
}
