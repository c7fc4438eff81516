import { HoltError, randomText } from '@holt/protocol'
import type { Service } from '../service.ts'
import type { Changes, Queries } from '../store/open-store.ts'
import { countKept, maxKeptBytesOfProject, recountKept } from './kept-bytes.ts'
import { countRecord, maxRecordsOfProject, recountRecords, requireRoom, uncountRecord } from './kept-records.ts'

/** Whose record, and under which `Idempotency-Key`. */
export interface RecordRef {
  readonly projectId: string
  readonly key: string
}

/** What is known of a request. `status` is null until it has been answered. */
export interface IdempotencyRecord {
  readonly fingerprint: string
  /** What the id is made of that its request gives to what it makes. */
  readonly resource_id: string
  readonly status: number | null
}

/** What a request was answered. `body` is null where that was too long to keep, or was let go of for newer ones. */
export interface KeptAnswer {
  readonly fingerprint: string
  readonly status: number
  readonly body: string | null
}

/** The record of a request, if there is one. */
export async function findRecord(
  { store }: Pick<Service, 'store'>,
  { projectId, key }: RecordRef,
): Promise<IdempotencyRecord | undefined> {
  return store.db
    .selectFrom('idempotency')
    .select(['fingerprint', 'resource_id', 'status'])
    .where('project_id', '=', projectId)
    .where('idempotency_key', '=', key)
    .executeTakeFirst()
}

/** The answer that was kept of a request. */
export async function readKept(
  { store }: Pick<Service, 'store'>,
  { projectId, key }: RecordRef,
): Promise<string | null> {
  const row = await store.db
    .selectFrom('idempotency')
    .select('body')
    .where('project_id', '=', projectId)
    .where('idempotency_key', '=', key)
    .executeTakeFirst()
  return row?.body ?? null
}

/** Notes a request before anything of it is done. Throws `rate_limited` where the project has `maxRecords` of the last day. */
export async function openRecord(
  { store, now }: Pick<Service, 'store' | 'now'>,
  { projectId, key }: RecordRef,
  fingerprint: string,
  maxRecords: number = maxRecordsOfProject,
): Promise<IdempotencyRecord> {
  const at = now()
  requireRoom(store, { projectId, maxRecords, now: at })
  const record = { fingerprint, resource_id: randomText(20), status: null }
  const row = { project_id: projectId, idempotency_key: key, ...record, body: null, created_at: at }
  const change = async (changes: Changes) => {
    await countRecord(store, changes, { projectId, maxRecords, now: at })
    await changes.insertInto('idempotency').values(row).execute()
  }
  try {
    await store.change(change, { durable: 'later' })
  } catch (error) {
    if (!(error instanceof HoltError)) recountRecords(store, projectId)
    throw error
  }
  return record
}

/** Keeps what a request was answered. Where the project's answers take more than `maxBytes` then, its oldest are let go of. */
export async function closeRecord(
  { store }: Pick<Service, 'store'>,
  { projectId, key }: RecordRef,
  answered: KeptAnswer,
  maxBytes: number = maxKeptBytesOfProject,
): Promise<void> {
  const change = async (changes: Changes) => {
    await changes
      .updateTable('idempotency')
      .set(answered)
      .where('project_id', '=', projectId)
      .where('idempotency_key', '=', key)
      .execute()
    await countKept(store, changes, { projectId, bytes: answered.body?.length ?? 0, maxBytes })
  }
  try {
    await store.change(change, { durable: 'later' })
  } catch (error) {
    recountKept(store, projectId)
    throw error
  }
}

/** Forgets a request that nothing came of. */
export async function dropRecord({ store }: Pick<Service, 'store'>, { projectId, key }: RecordRef): Promise<void> {
  const change = (changes: Queries) =>
    changes.deleteFrom('idempotency').where('project_id', '=', projectId).where('idempotency_key', '=', key).execute()
  await store.change(change, { durable: 'later' })
  uncountRecord(store, projectId)
}
