import type { QuotaUse } from '@holt/protocol'
import { notEnded } from '../../foundation/rows/not-ended.ts'
import type { Queries } from '../../foundation/store/open-store.ts'

/** The states in which a runtime's memory is on the disk, moves there, or may have to return. */
const pausedStates: readonly string[] = ['paused', 'pausing', 'resuming']

const nothing: QuotaUse = {
  runtimes: 0,
  paused_runtimes: 0,
  cpu: 0,
  memory_mib: 0,
  disk_mib: 0,
  snapshot_bytes: 0,
  template_bytes: 0,
  builds: 0,
}

/**
 * Returns the use of projects, counted from their rows. Work in progress has a row too, so a crash
 * changes nothing.
 */
export async function quotaUse(db: Queries, projectIds: readonly string[]): Promise<(projectId: string) => QuotaUse> {
  const uses = new Map<string, QuotaUse>()
  const add = (projectId: string, more: Partial<QuotaUse>) => {
    const use = uses.get(projectId) ?? nothing
    const sums = Object.entries(more).map(([name, amount]) => [name, use[name as keyof QuotaUse] + amount])
    uses.set(projectId, { ...use, ...Object.fromEntries(sums) })
  }
  if (projectIds.length > 0)
    for (const addAll of [addRuntimes, addBuilds, addSnapshots, addTemplates]) await addAll(db, projectIds, add)
  return (projectId) => rounded(uses.get(projectId) ?? nothing)
}

type Add = (projectId: string, more: Partial<QuotaUse>) => void

async function addRuntimes(db: Queries, projectIds: readonly string[], add: Add): Promise<void> {
  const rows = await db
    .selectFrom('known_runtimes')
    .select(({ fn }) => [
      'project_id',
      'state',
      fn.countAll<number>().as('count'),
      fn.sum<number>('cpu').as('cpu'),
      fn.sum<number>('memory_mib').as('memory_mib'),
      fn.sum<number>('disk_mib').as('disk_mib'),
    ])
    .where('project_id', 'in', projectIds)
    .where(notEnded)
    .groupBy(['project_id', 'state'])
    .execute()
  for (const { project_id, state, count, cpu, memory_mib, disk_mib } of rows) {
    add(project_id, { disk_mib: Number(disk_mib) })
    if (pausedStates.includes(state)) add(project_id, { paused_runtimes: Number(count) })
    if (state !== 'paused')
      add(project_id, { runtimes: Number(count), cpu: Number(cpu), memory_mib: Number(memory_mib) })
  }
}

/** Adds the builds that have not ended, and their runtimes. */
async function addBuilds(db: Queries, projectIds: readonly string[], add: Add): Promise<void> {
  const builds = await db
    .selectFrom('builds')
    .select(({ fn }) => ['project_id', fn.countAll<number>().as('count')])
    .where('project_id', 'in', projectIds)
    .where('ended_at', 'is', null)
    .groupBy('project_id')
    .execute()
  for (const { project_id, count } of builds) add(project_id, { builds: Number(count) })
  const runtimes = await db
    .selectFrom('build_resources')
    .innerJoin('builds', 'builds.build_id', 'build_resources.build_id')
    .select(({ fn }) => [
      'builds.project_id',
      fn.countAll<number>().as('count'),
      fn.sum<number>('build_resources.cpu').as('cpu'),
      fn.sum<number>('build_resources.memory_mib').as('memory_mib'),
      fn.sum<number>('build_resources.disk_mib').as('disk_mib'),
    ])
    .where('builds.project_id', 'in', projectIds)
    .where('build_resources.kind', '=', 'runtime')
    .groupBy('builds.project_id')
    .execute()
  for (const { project_id, count, cpu, memory_mib, disk_mib } of runtimes) {
    const sizes = { cpu: Number(cpu), memory_mib: Number(memory_mib), disk_mib: Number(disk_mib) }
    add(project_id, { runtimes: Number(count), ...sizes })
  }
}

async function addSnapshots(db: Queries, projectIds: readonly string[], add: Add): Promise<void> {
  const rows = await db
    .selectFrom('snapshots')
    .select(({ fn }) => ['project_id', fn.sum<number>('size_bytes').as('bytes')])
    .where('project_id', 'in', projectIds)
    .where('state', '=', 'ready')
    .groupBy('project_id')
    .execute()
  for (const { project_id, bytes } of rows) add(project_id, { snapshot_bytes: Number(bytes ?? 0) })
}

async function addTemplates(db: Queries, projectIds: readonly string[], add: Add): Promise<void> {
  const rows = await db
    .selectFrom('templates')
    .select(({ fn }) => ['project_id', fn.sum<number>('size_bytes').as('bytes')])
    .where('project_id', 'in', projectIds)
    .groupBy('project_id')
    .execute()
  for (const { project_id, bytes } of rows) add(project_id, { template_bytes: Number(bytes ?? 0) })
}

/** Rounds vCPUs. They are thousandths, and their sums are floating point. */
function rounded(use: QuotaUse): QuotaUse {
  return { ...use, cpu: Math.round(use.cpu * 1000) / 1000 }
}
