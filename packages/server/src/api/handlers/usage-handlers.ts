import { HoltError, type RuntimeMetrics, type RuntimeSample } from '@holt/protocol'
import { findRuntime, notRunning } from '../../foundation/rows/find-runtime.ts'
import { isAlive } from '../../foundation/rows/states.ts'
import { moment } from '../../foundation/store/moment.ts'
import type { Answer, Call } from '../../foundation/wire/call.ts'
import type { UsageNow } from '../../runtimes/usage/usage-watch.ts'
import type { RatedLook } from '../../runtimes/usage/window.ts'
import type { Api, Handlers } from '../api.ts'

/** The route of a runtime's resource use. */
export const usageHandlers = { runtimeMetrics } satisfies Partial<Handlers>

const bytesPerMiB = 2 ** 20

/** Returns the resource use of a runtime without waking it. */
async function runtimeMetrics({ service, query, ref }: Call<'runtimeMetrics', Api>): Promise<Answer> {
  const { engine, usage } = service
  const row = await findRuntime(service, ref)
  if (!isAlive(row.state)) throw notRunning(row)
  if (engine.ability('usage') === null)
    throw new HoltError('not_supported_here', 'This host does not measure the usage of runtimes.')
  const stepMs = query.step_secs * 1000
  const now = await usage.now(row.runtime_id)
  const json: RuntimeMetrics = {
    runtime_id: row.runtime_id as RuntimeMetrics['runtime_id'],
    state: row.state,
    limits: { cpu: row.cpu, memory_bytes: row.memory_mib * bytesPerMiB, disk_bytes: row.disk_mib * bytesPerMiB },
    now: now === null ? null : sampleOf(now),
    step_secs: query.step_secs,
    samples: usage.window(row.runtime_id, { windowMs: query.window_secs * 1000, stepMs }).map(sampleOf),
  }
  return { status: 200, json }
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
