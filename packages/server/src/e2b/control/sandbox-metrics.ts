import type { MetricsOfQuery, MetricsQuery, SandboxMetric } from '@holt/e2b'
import { HoltError, metricsKeptSecs, metricsStepSecs } from '@holt/protocol'
import type { z } from 'zod'
import type { Api } from '../../api/api.ts'
import { moment } from '../../foundation/store/moment.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import type { RatedLook } from '../../runtimes/usage/window.ts'
import type { E2bAnswer } from '../answers/write-answer.ts'
import { measuredUse } from '../sandbox/measured-use.ts'
import type { ControlCall } from './control-call.ts'
import { findLive } from './find-live.ts'

/**
 * Returns the measurements of a sandbox between two moments, oldest first. The present one is among
 * them if the window holds it, so that a new sandbox has one.
 */
export async function sandboxMetrics({
  service,
  ref,
  query,
}: ControlCall<unknown, z.output<typeof MetricsQuery>>): Promise<E2bAnswer> {
  requireUsage(service)
  const row = await findLive(service, ref)
  const { usage } = service
  const [from, to] = [(query.start ?? 0) * 1000, query.end === undefined ? Number.MAX_VALUE : query.end * 1000 + 999]
  const kept = usage.window(ref.runtimeId, { windowMs: metricsKeptSecs * 1000, stepMs: metricsStepSecs * 1000 })
  const holdsNow = to >= service.now()
  const now = holdsNow && row.state === 'running' ? await usage.now(ref.runtimeId) : null
  const looks = [...kept, ...(now === null ? [] : [now])].filter(({ at }) => at >= from && at <= to)
  return { status: 200, json: looks.map((look) => metricOf(row, look)) }
}

/** Returns the present measurement of each of some sandboxes that run. */
export async function metricsOfSandboxes({
  service,
  caller: { projectId },
  query,
}: ControlCall<unknown, z.output<typeof MetricsOfQuery>>): Promise<E2bAnswer> {
  requireUsage(service)
  const ids = query.sandbox_ids
  const rows = await service.store.db
    .selectFrom('runtimes')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('state', '=', 'running')
    .where('runtime_id', 'in', ids.length === 0 ? [''] : ids)
    .execute()
  const sandboxes: Record<string, SandboxMetric> = {}
  for (const row of rows) {
    const now = await service.usage.now(row.runtime_id)
    if (now !== null) sandboxes[row.runtime_id] = metricOf(row, now)
  }
  return { status: 200, json: { sandboxes } }
}

function requireUsage({ engine }: Api): void {
  if (engine.ability('usage') === null)
    throw new HoltError('not_supported_here', 'This host does not measure the usage of sandboxes.')
}

function metricOf(row: RuntimeRow, look: RatedLook): SandboxMetric {
  return { timestamp: moment(look.at), timestampUnix: Math.floor(look.at / 1000), ...measuredUse(row, look) }
}
