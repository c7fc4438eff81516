import type { CreateRuntime } from '@holt/protocol'
import { RecentMap } from '../../foundation/recent-map.ts'
import type { Store } from '../../foundation/store/open-store.ts'
import { dayMs } from '../../foundation/time/day.ts'
import type { Owned } from '../../foundation/wire/forwarder.ts'

/** The time for which a worker serves a project after its last request, in milliseconds. */
const servedMs = dayMs

/** The time after which a row is written again, in milliseconds. */
const writtenMs = dayMs / 24

/** The time in which a worker takes an offered runtime, in milliseconds. It fetches files first. */
const offeredMs = 10 * 60_000

/** The maximum number of rows that are remembered. The oldest is forgotten first. */
const mostKept = 50_000

/** Notes the host that gets a request, and its subject. The request waits for it. */
export type NoteErrand = (
  owner: { readonly hostId: string; readonly isChosen?: true },
  subject: Pick<Owned, 'projectId' | 'id'>,
) => Promise<void>

/**
 * Notes the host that gets a create, and the create. The request waits for it, and disposes of the
 * result when the host has answered.
 */
export type NoteCreate = (hostId: string, projectId: string, create: CreateRuntime) => Promise<Disposable>

/** The parts of a front that sends workers requests. */
export interface ErrandParts {
  readonly store: Pick<Store, 'db'>
  readonly now: () => number
  /** Returns true if a host is a worker. */
  readonly isWorker: (hostId: string) => boolean
}

/**
 * The projects that workers serve, in the database. A worker's role sees rows of these projects
 * alone, so the row is there before the worker gets the first request. It is written once an hour.
 */
export class WorkerErrands {
  readonly #parts: ErrandParts
  readonly #written = new RecentMap<string, number>(mostKept)

  constructor(parts: ErrandParts) {
    this.#parts = parts
  }

  /** Lets a worker serve a project. Does nothing for any other host. */
  async permit(hostId: string, projectId: string): Promise<void> {
    const { store, now, isWorker } = this.#parts
    if (!isWorker(hostId)) return
    const name = `${hostId} ${projectId}`
    const at = now()
    const before = this.#written.get(name)
    if (before !== undefined && at - before < writtenMs && at >= before) return
    const row = { host_id: hostId, project_id: projectId, ends_at: at + servedMs }
    await store.db
      .insertInto('worker_errands')
      .values(row)
      .onConflict((conflict) => conflict.columns(['host_id', 'project_id']).doUpdateSet(row))
      .execute()
    this.#written.set(name, at)
  }

  /** Returns true if a worker serves a project. */
  async has(hostId: string, projectId: string): Promise<boolean> {
    const { store, now } = this.#parts
    const row = await store.db
      .selectFrom('worker_errands')
      .select('ends_at')
      .where('host_id', '=', hostId)
      .where('project_id', '=', projectId)
      .executeTakeFirst()
    return row !== undefined && row.ends_at > now()
  }

  /** Lets a worker take a paused runtime that no host owns. Does nothing for any other host. */
  async offer(hostId: string, runtimeId: string): Promise<void> {
    const { store, now, isWorker } = this.#parts
    if (!isWorker(hostId)) return
    const row = { runtime_id: runtimeId, host_id: hostId, ends_at: now() + offeredMs }
    await store.db
      .insertInto('worker_offers')
      .values(row)
      .onConflict((conflict) => conflict.columns(['runtime_id', 'host_id']).doUpdateSet(row))
      .execute()
  }

  /** Ends the offer of a runtime. */
  async withdraw(hostId: string, runtimeId: string): Promise<void> {
    const { store, isWorker } = this.#parts
    if (!isWorker(hostId)) return
    await store.db
      .deleteFrom('worker_offers')
      .where('runtime_id', '=', runtimeId)
      .where('host_id', '=', hostId)
      .execute()
  }
}

/** Removes the errands, the offers and the grants that are over. */
export async function removeOldErrands({ store, now }: Pick<ErrandParts, 'store' | 'now'>): Promise<void> {
  await store.db.deleteFrom('worker_errands').where('ends_at', '<', now()).execute()
  await store.db.deleteFrom('worker_offers').where('ends_at', '<', now()).execute()
  await store.db.deleteFrom('worker_grants').where('ends_at', '<', now()).execute()
}
