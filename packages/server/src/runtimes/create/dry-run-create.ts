import { EngineError } from '@holt/engine'
import type { CreateRuntime, DryRun } from '@holt/protocol'
import { fromEngineError } from '../../foundation/errors/engine-errors.ts'
import type { Refuse } from '../../foundation/errors/refuse.ts'
import { requireRoom } from '../admission/require-room.ts'
import type { Runtimes } from '../runtimes.ts'
import type { ImageOf } from './find-source.ts'
import { planRuntime, type RuntimePlan } from './plan-runtime.ts'
import { presentPlan, Refusals } from './present-dry-run.ts'
import { requireRegion } from './require-region.ts'

/**
 * Answers a create with `dry_run`. Runs every check of a create, and collects the refusals. Writes
 * nothing. The result is a forecast: a later create is checked again.
 */
export async function dryRunCreate(
  service: Runtimes,
  projectId: string,
  { request, imageOf }: { readonly request: CreateRuntime; readonly imageOf: ImageOf },
): Promise<DryRun> {
  const { refuse, problems } = new Refusals()
  requireRegion(service, request, refuse)
  const plan = await planRuntime<null>(service, projectId, { request, imageOf, refuse })
  const { size, host } = plan
  // No runtime has this id, so every restore in progress counts.
  const wanted = { projectId, runtimeId: '', name: request.name ?? null, size }
  const room = await requireRoom(service, service.store.db, { wanted, host, refuse })
  await requireUsable(service, plan, refuse)
  return { would_create: problems.length === 0, ...presentPlan(service, plan, room), problems }
}

/** Refuses a memory snapshot that the engine will not restore, with the error of the engine. */
async function requireUsable({ engine }: Runtimes, { source }: RuntimePlan<null>, refuse: Refuse): Promise<void> {
  if (source === null || source.checkpointId === null || !source.restoreOnly) return
  const found = await engine.ability('checkpoints')?.usable(source.checkpointId, { restoreOnly: true })
  if (found === undefined || found.usable) return
  refuse(fromEngineError(new EngineError(found.problem === 'incompatible' ? 'incompatible' : 'damaged', found.why)))
}
