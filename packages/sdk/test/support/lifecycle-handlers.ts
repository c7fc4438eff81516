import {
  type CreateSnapshot,
  type ForkRuntime,
  HoltError,
  makeId,
  type RouteName,
  type UpdateRuntime,
} from '@holt/protocol'
import { forkDryRunOf } from './dry-run-of.ts'
import { awakeOf, runtimeOf } from './named-runtime.ts'
import { now } from './samples.ts'
import type { TestAnswer, TestCall, TestService } from './test-service.ts'

type Row = Record<string, unknown>

/** The snapshot that a text names. */
export function snapshotOf(service: TestService, text: string): Row {
  const named = (row: Row) => row.snapshot_id === text || row.name === text
  const row = [...service.snapshots.values()].find(named)
  if (row === undefined) throw new HoltError('snapshot_not_found', `No snapshot ${text}`)
  return row
}

function requireMemory({ isolation }: Row): void {
  if (isolation !== 'gvisor') throw new HoltError('not_supported_here', 'The class container has no memory checkpoint.')
}

/** Answers the first answer again where the key is that of an earlier request. */
function once({ service, request }: TestCall, make: () => Row): TestAnswer {
  const key = request.headers['idempotency-key'] as string | undefined
  const known = key === undefined ? undefined : service.replays.get(key)
  const json = known ?? make()
  if (key !== undefined) service.replays.set(key, json)
  return { status: 201, json }
}

function takeSnapshot(call: TestCall): Row {
  const { service, body } = call
  const { name = null, kind, record_files = false } = body as CreateSnapshot
  const runtime = awakeOf(call)
  const wanted = kind ?? (runtime.isolation === 'gvisor' ? 'memory' : 'filesystem')
  if (wanted === 'memory') requireMemory(runtime)
  if (name !== null && [...service.snapshots.values()].some((row) => row.name === name))
    throw new HoltError('name_taken', `${name} is taken`)
  const { runtime_id, template, isolation, cpu, memory_mib, disk_mib } = runtime
  const snapshot = {
    snapshot_id: makeId('snapshot'),
    name,
    kind: wanted,
    record_files: wanted === 'memory' ? record_files : null,
    state: 'ready',
    state_reason: null,
    runtime_id,
    template,
    isolation,
    cpu,
    memory_mib,
    disk_mib,
    size_bytes: 64 * 1024 * 1024,
    created_at: now(),
  }
  service.snapshots.set(snapshot.snapshot_id, snapshot)
  return snapshot
}

function fork(call: TestCall): Row {
  const { service, body } = call
  const { count, ...changes } = body as ForkRuntime
  const source = awakeOf(call)
  requireMemory(source)
  const data = Array.from({ length: count }, () => {
    const error = service.childErrors.shift()
    if (error !== undefined) return { runtime: null, error }
    const identity = { runtime_id: makeId('runtime'), name: null, parent_id: source.runtime_id, created_at: now() }
    const runtime = { ...source, ...changes, ...identity }
    service.runtimes.set(identity.runtime_id, runtime)
    return { runtime, error: null }
  })
  return { data }
}

/** Pause, resume, fork, snapshots, and what of it can be changed. */
export const lifecycleHandlers = {
  updateRuntime: (call) => {
    const { metadata_patch = {}, ...change } = call.body as UpdateRuntime
    const runtime = Object.assign(runtimeOf(call), change)
    const labels = Object.entries({ ...(runtime.metadata as object), ...metadata_patch })
    Object.assign(runtime, { metadata: Object.fromEntries(labels.filter(([, value]) => value !== null)) })
    const secs = runtime.timeout_secs as number | null
    const expires_at = secs === null ? null : new Date(Date.now() + secs * 1000).toISOString()
    return { status: 200, json: Object.assign(runtime, { expires_at }) }
  },
  pauseRuntime: (call) => {
    const runtime = runtimeOf(call)
    requireMemory(runtime)
    if (runtime.state === 'running') {
      const state_reason = { code: 'requested', message: 'It was asked for.' }
      Object.assign(runtime, { state: 'paused', state_reason, paused_at: now(), expires_at: null })
    }
    return { status: 200, json: runtime }
  },
  resumeRuntime: (call) => {
    const runtime = runtimeOf(call)
    if (runtime.state === 'terminated') throw new HoltError('runtime_terminated', 'The runtime has ended')
    return { status: 200, json: Object.assign(runtime, { state: 'running', state_reason: null, paused_at: null }) }
  },
  forkRuntime: (call) => {
    const { dry_run, count } = call.body as ForkRuntime
    if (dry_run === true) return { status: 200, json: forkDryRunOf(call.service, { body: runtimeOf(call), count }) }
    return once(call, () => fork(call))
  },
  createSnapshot: (call) => once(call, () => takeSnapshot(call)),
  listSnapshots: ({ service, query }) => {
    const filters = ['name', 'kind', 'state', 'runtime_id'] as const
    const wanted = [...service.snapshots.values()]
      .reverse()
      .filter((row) => filters.every((field) => query[field] === undefined || query[field] === row[field]))
    return { status: 200, json: { data: wanted, next_cursor: null } }
  },
  getSnapshot: ({ service, params }) => ({ status: 200, json: snapshotOf(service, params.snapshot_id ?? '') }),
  deleteSnapshot: ({ service, params }) => {
    service.snapshots.delete(String(snapshotOf(service, params.snapshot_id ?? '').snapshot_id))
    return { status: 204 }
  },
} as const satisfies Partial<Record<RouteName, (call: TestCall) => TestAnswer | Promise<TestAnswer>>>
