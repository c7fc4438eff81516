import { randomText } from '@holt/protocol'
import type { Service } from '../service.ts'
import type { Changes, Queries } from '../store/open-store.ts'
import { countKept, maxKeptBytesOfProject, recountKept } from './kept-bytes.ts'
import { countRecord, noteRefused, recountRecords, requireRoom, uncountRecord } from './kept-records.ts'

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

/** A request that nothing is known of. */
interface NewRequest {
  readonly fingerprint: string
  /** The API key that asks. */
  readonly keyId: string
  /** How many of its project are known at the most. */
  readonly maxRecords: number
}

/**
 * What a request was answered. `body` is null where that was too long to keep, or was let go of for
 * newer ones.
 */
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

/**
 * Notes a request before anything of it is done. Throws `rate_limited` where its project has
 * `maxRecords` of the last day that were not refused, or its API key half of them.
 */
export async function openRecord(
  { store, now }: Pick<Service, 'store' | 'now'>,
  { projectId, key }: RecordRef,
  { fingerprint, keyId, maxRecords }: NewRequest,
): Promise<IdempotencyRecord> {
  const at = now()
  const bound = { projectId, keyId, maxRecords, now: at }
  requireRoom(store, bound)
  const record = { fingerprint, resource_id: randomText(20), status: null }
  const row = { project_id: projectId, idempotency_key: key, key_id: keyId, ...record, body: null, created_at: at }
  const change = async (changes: Changes) => {
    await countRecord(store, changes, bound)
    await changes.insertInto('idempotency').values(row).execute()
  }
  try {
    await store.change(change, { durable: 'later' })
  } catch (error) {
    recountRecords(store, projectId)
    throw error
  }
  return record
}

/**
 * Keeps what a request was answered. Where the project's answers take more than `maxBytes` then,
 * its oldest are let go of.
 */
export async function closeRecord(
  { store }: Pick<Service, 'store'>,
  { projectId, key }: RecordRef,
  answered: KeptAnswer,
  maxBytes: number = maxKeptBytesOfProject,
): Promise<void> {
  const change = async (changes: Changes) => {
    const closed = await changes
      .updateTable('idempotency')
      .set(answered)
      .where('project_id', '=', projectId)
      .where('idempotency_key', '=', key)
      .returning('key_id')
      .executeTakeFirst()
    await countKept(store, changes, { projectId, bytes: answered.body?.length ?? 0, maxBytes })
    return closed
  }
  try {
    const closed = await store.change(change, { durable: 'later' })
    if (closed !== undefined && answered.status >= 400) noteRefused(store, { projectId, keyId: closed.key_id })
  } catch (error) {
    recountKept(store, projectId)
    throw error
  }
}

/** Forgets a request that nothing came of. */
export async function dropRecord({ store }: Pick<Service, 'store'>, { projectId, key }: RecordRef): Promise<void> {
  const change = (changes: Queries) =>
    changes
      .deleteFrom('idempotency')
      .where('project_id', '=', projectId)
      .where('idempotency_key', '=', key)
      .returning('key_id')
      .executeTakeFirst()
  const dropped = await store.change(change, { durable: 'later' })
  if (dropped !== undefined) uncountRecord(store, { projectId, keyId: dropped.key_id })
}
