import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ListMetricsQuery } from '@holt/protocol'
import { isAlive } from '../../foundation/rows/states.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import type { Runtimes } from '../runtimes.ts'
import { findRuntimes } from '../state/list-runtimes.ts'
import type { UsageNow } from './usage-watch.ts'
import type { RatedLook } from './window.ts'

/** The maximum number of samples in an answer: about 1 MiB. */
const mostSamples = 3_600

/** The approximate bytes of a sample in an answer. */
const sampleBytes = 300

/** The runtimes that are read before other requests get a turn. One read takes some 50 µs. */
const runtimesPerTurn = 16

const columns = ['runtime_id', 'state', 'cpu', 'memory_mib', 'disk_mib'] as const

/** The use of one runtime, with the columns of its row that bound it. */
export interface ListedUsage {
  readonly row: Pick<RuntimeRow, (typeof columns)[number]>
  readonly now: UsageNow | null
  readonly looks: readonly RatedLook[]
}

/**
 * Returns the use of a project's runtimes, newest first, without waking any. `keepAnswer` reserves
 * memory before they are read. A runtime that cannot be read has no present use.
 */
export async function listUsage(
  service: Runtimes,
  { projectId, gone }: { readonly projectId: string; readonly gone: AbortSignal },
  { list, keepAnswer }: { readonly list: ListMetricsQuery; readonly keepAnswer: (bytes: number) => void },
): Promise<{ readonly found: readonly ListedUsage[]; readonly nextCursor: string | null }> {
  const { store, usage } = service
  const samples = 1 + Math.floor(list.window_secs / list.step_secs)
  const limit = Math.max(1, Math.min(list.limit, Math.floor(mostSamples / samples)))
  const { runtime_id, cursor } = list
  const wanted = runtime_id === undefined ? { state: ['running' as const] } : { runtime_id }
  const { seqs, nextCursor } = await findRuntimes(service, { projectId, gone }, { ...wanted, cursor, limit })
  if (seqs.length === 0) return { found: [], nextCursor: null }
  keepAnswer(seqs.length * (samples + 1) * sampleBytes)
  const rows = await store.db
    .selectFrom('runtimes')
    .select(columns)
    .where('project_id', '=', projectId)
    .where('seq', 'in', seqs)
    .orderBy('seq', 'desc')
    .execute()
  const size = { windowMs: list.window_secs * 1000, stepMs: list.step_secs * 1000 }
  const found: Promise<ListedUsage>[] = []
  for (const [index, row] of rows.entries()) {
    const alive = isAlive(row.state)
    const looks = alive ? usage.window(row.runtime_id, size) : []
    found.push(readNow(service, alive ? row.runtime_id : null).then((now) => ({ row, now, looks })))
    if (index % runtimesPerTurn === runtimesPerTurn - 1) await nextTurn()
  }
  return { found: await Promise.all(found), nextCursor }
}

/** Returns the present use of a runtime; null if it has ended. */
async function readNow({ usage, log }: Runtimes, runtimeId: string | null): Promise<UsageNow | null> {
  if (runtimeId === null) return null
  try {
    return await usage.now(runtimeId)
  } catch (err) {
    // The others are not affected by a failed read of one.
    log.warn({ err, runtime_id: runtimeId }, 'the usage of a runtime could not be read')
    return null
  }
}
