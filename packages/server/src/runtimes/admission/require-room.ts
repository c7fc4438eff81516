import type { EngineFacts } from '@holt/engine'
import { HoltError } from '@holt/protocol'
import { attempt, type Refuse, throwRefusal } from '../../foundation/errors/refuse.ts'
import { notEnded } from '../../foundation/rows/not-ended.ts'
import type { Queries } from '../../foundation/store/open-store.ts'
import { type QuotaDemand, requireQuotas } from '../../tenancy/projects/require-quotas.ts'
import type { Runtimes } from '../runtimes.ts'
import { type Admission, admit } from './admit.ts'
import type { SizeOr } from './decide-size.ts'
import { promisedMiB } from './promised.ts'

/**
 * A runtime as its project and its host see it. An unknown part of its size is null, and asks for
 * nothing.
 */
interface WantedRoom {
  readonly projectId: string
  readonly runtimeId: string
  readonly name: string | null
  readonly size: SizeOr<null>
}

/** The facts about the host and a new runtime that decide if there is room. */
export interface HostFacts {
  readonly facts: EngineFacts
  readonly freeMemoryMiB: number | null
  /** The memory that a restore loads, in MiB. 0 if it starts empty. */
  readonly broughtBackMiB: number
}

/** The room that a new runtime needs and the host has. */
export interface RequiredRoom {
  /** The quotas that limit the project. */
  readonly quotas: readonly QuotaDemand[]
  readonly admission: Admission
}

/**
 * Refuses a runtime if its name is taken, a quota is exceeded, or the host has no room. `arrives`:
 * `db` is the change that writes its row.
 */
export async function requireRoom(
  service: Runtimes,
  db: Queries,
  {
    wanted,
    host,
    refuse = throwRefusal,
    arrives = false,
  }: { wanted: WantedRoom; host: HostFacts; refuse?: Refuse; arrives?: boolean },
): Promise<RequiredRoom> {
  const { starts, restores, transitions, arrivals, store, config, thisHost } = service
  const { projectId, runtimeId, size } = wanted
  await attempt(refuse, () => requireFreeRuntimeName(db, wanted))
  const quotas = await attempt(refuse, () => requireQuotas(service, db, { projectId, adds: addsOf(size) }, refuse))
  const before = arrives ? arrivals.begin(store, runtimeId, size.memoryMiB ?? 0) : undefined
  const admission: Admission = {
    hostMemoryMiB: host.facts.memoryMiB,
    diskFreeMiB: host.facts.diskFreeMiB,
    freeMemoryMiB: host.freeMemoryMiB,
    promisedMiB: await promisedMiB(db, thisHost, before),
    starting: starts.size + transitions.resuming,
    overcommit: config.memoryOvercommit,
    reserve: config.reserve,
    memoryMiB: size.memoryMiB ?? 0,
    broughtBackMiB: host.broughtBackMiB,
    arrivingMiB: restores.memoryMiB(runtimeId),
  }
  admit(admission, refuse)
  return { quotas: quotas ?? [], admission }
}

function addsOf({ cpu, memoryMiB, diskMiB }: SizeOr<null>) {
  return {
    runtimes: 1,
    ...(cpu === null ? {} : { cpu }),
    ...(memoryMiB === null ? {} : { memory_mib: memoryMiB }),
    ...(diskMiB === null ? {} : { disk_mib: diskMiB }),
  }
}

async function requireFreeRuntimeName(db: Queries, { name, projectId }: WantedRoom): Promise<void> {
  if (name === null) return
  const taken = await db
    .selectFrom('known_runtimes')
    .select('runtime_id')
    .where('project_id', '=', projectId)
    .where('name', '=', name)
    .where(notEnded)
    .executeTakeFirst()
  if (taken === undefined) return
  throw new HoltError('name_taken', `A runtime named ${name} exists.`, { details: { runtime_id: taken.runtime_id } })
}
