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

/**
 * Returns the present measurement of each of some sandboxes that run. Their hosts are asked. A host
 * that does not answer adds none.
 */
export async function metricsOfSandboxes({
  service,
  caller: { projectId },
  query,
}: ControlCall<unknown, z.output<typeof MetricsOfQuery>>): Promise<E2bAnswer> {
  if (service.usage.elsewhere === null) requireUsage(service)
  const ids = query.sandbox_ids
  const rows = await service.store.db
    .selectFrom('runtimes')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('state', '=', 'running')
    .where('runtime_id', 'in', ids.length === 0 ? [''] : ids)
    .execute()
  const sandboxes: Record<string, SandboxMetric> = {}
  const byHost = Map.groupBy(rows, ({ host_id }) => host_id)
  const looks = await Promise.all(
    [...byHost].map(([hostId, own]) => looksOf(service, hostId, { projectId, rows: own })),
  )
  for (const { runtimeId, look } of looks.flat()) {
    const row = rows.find(({ runtime_id }) => runtime_id === runtimeId)
    if (row !== undefined) sandboxes[runtimeId] = metricOf(row, look)
  }
  return { status: 200, json: { sandboxes } }
}

/** Returns the present measurements of the sandboxes of one host. */
async function looksOf(
  { usage, thisHost }: Api,
  hostId: string | null,
  { projectId, rows }: { readonly projectId: string; readonly rows: readonly RuntimeRow[] },
): Promise<readonly { readonly runtimeId: string; readonly look: MeasuredLook }[]> {
  const ids = rows.map(({ runtime_id }) => runtime_id)
  if (hostId !== thisHost.hostId && hostId !== null && usage.elsewhere !== null) {
    const far = await usage.elsewhere(hostId, { projectId, ids })
    return far.map((look) => ({ runtimeId: look.runtimeId, look }))
  }
  const found: { runtimeId: string; look: MeasuredLook }[] = []
  for (const runtimeId of ids) {
    const look = await usage.now(runtimeId)
    if (look !== null) found.push({ runtimeId, look })
  }
  return found
}

type MeasuredLook = Pick<RatedLook, 'at' | 'rate' | 'memoryBytes' | 'diskBytes'>

function requireUsage({ engine }: Api): void {
  if (engine.ability('usage') === null)
    throw new HoltError('not_supported_here', 'This host does not measure the usage of sandboxes.')
}

function metricOf(row: RuntimeRow, look: MeasuredLook): SandboxMetric {
  return { timestamp: moment(look.at), timestampUnix: Math.floor(look.at / 1000), ...measuredUse(row, look) }
}
