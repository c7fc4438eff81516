import { HoltError, type RuntimeMetrics, type RuntimeSample } from '@holt/protocol'
import { findRuntime, notRunning } from '../../foundation/rows/find-runtime.ts'
import { isAlive } from '../../foundation/rows/states.ts'
import { moment } from '../../foundation/store/moment.ts'
import { type Answer, answerPage, type Call } from '../../foundation/wire/call.ts'
import { type ListedUsage, listUsage } from '../../runtimes/usage/list-usage.ts'
import type { UsageNow } from '../../runtimes/usage/usage-watch.ts'
import type { RatedLook } from '../../runtimes/usage/window.ts'
import type { Api, Handlers } from '../api.ts'

/** The routes of the resource use of runtimes. */
export const usageHandlers = { runtimeMetrics, listRuntimeMetrics } satisfies Partial<Handlers>

const bytesPerMiB = 2 ** 20

/** Returns the resource use of a runtime without waking it. */
async function runtimeMetrics({ service, query, ref }: Call<'runtimeMetrics', Api>): Promise<Answer> {
  const { usage } = service
  const row = await findRuntime(service, ref)
  if (!isAlive(row.state)) throw notRunning(row)
  requireUsage(service)
  const now = await usage.now(row.runtime_id)
  const looks = usage.window(row.runtime_id, { windowMs: query.window_secs * 1000, stepMs: query.step_secs * 1000 })
  return { status: 200, json: metricsOf({ row, now, looks }, query) }
}

/** Returns the resource use of many runtimes without waking them. */
async function listRuntimeMetrics(call: Call<'listRuntimeMetrics', Api>): Promise<Answer> {
  const { service, query, caller, gone, keepAnswer } = call
  requireUsage(service)
  const { projectId } = caller
  const { found, nextCursor } = await listUsage(service, { projectId, gone }, { list: query, keepAnswer })
  return answerPage({ data: found.map((each) => metricsOf(each, query)), next_cursor: nextCursor })
}

function requireUsage({ engine }: Api): void {
  if (engine.ability('usage') === null)
    throw new HoltError('not_supported_here', 'This host does not measure the usage of runtimes.')
}

function metricsOf({ row, now, looks }: ListedUsage, { step_secs }: { readonly step_secs: number }): RuntimeMetrics {
  return {
    runtime_id: row.runtime_id as RuntimeMetrics['runtime_id'],
    state: row.state,
    limits: { cpu: row.cpu, memory_bytes: row.memory_mib * bytesPerMiB, disk_bytes: row.disk_mib * bytesPerMiB },
    now: now === null ? null : sampleOf(now),
    step_secs,
    samples: looks.map(sampleOf),
  }
}

function sampleOf(look: RatedLook & Partial<Pick<UsageNow, 'processes'>>): RuntimeSample {
  return {
    at: moment(look.at),
    cpu: { used_usec: look.cpuUsec, rate: look.rate === null ? null : Math.round(look.rate * 1000) / 1000 },
    memory: { used_bytes: look.memoryBytes },
    disk: { used_bytes: look.diskBytes },
    processes: look.processes ?? null,
    network: { sent_bytes: look.sentBytes, received_bytes: look.receivedBytes },
  }
}
