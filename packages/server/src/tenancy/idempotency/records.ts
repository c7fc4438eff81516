import { randomText } from '@holt/protocol'
import { aloneWith } from '../../foundation/store/alone.ts'
import type { Changes, Queries } from '../../foundation/store/open-store.ts'
import type { Tenancy } from '../tenancy.ts'
import { countKept, maxKeptBytesOfProject, recountKept } from './kept-bytes.ts'
import { countRecord, noteRefused, recountRecords, requireRoom, uncountRecord } from './kept-records.ts'

/** The project and the `Idempotency-Key` of a record. */
export interface RecordRef {
  readonly projectId: string
  readonly key: string
}

/** A record of a request. `status` is null until it is answered. */
export interface IdempotencyRecord {
  readonly fingerprint: string
  /** The random part of the id of the thing that the request makes. */
  readonly resource_id: string
  readonly status: number | null
  /** The length of the kept answer as stored, in bytes. Null without an answer. */
  readonly kept_bytes: number | null
}

/** A request without a record. */
interface NewRequest {
  readonly fingerprint: string
  /** The API key of the request. */
  readonly keyId: string
  /** The maximum number of records of the project. */
  readonly maxRecords: number
}

/**
 * The kept answer of a request. `body` is null if it was too long, or was removed in favour of
 * newer ones.
 */
export interface KeptAnswer {
  readonly fingerprint: string
  readonly status: number
  readonly body: string | null
}

/** Returns the record of a request, if there is one. */
export async function findRecord(
  { store }: Pick<Tenancy, 'store'>,
  { projectId, key }: RecordRef,
): Promise<IdempotencyRecord | undefined> {
  return store.db
    .selectFrom('idempotency')
    .select(({ fn, ref }) => [
      'fingerprint',
      'resource_id',
      'status',
      fn<number | null>('octet_length', [ref('body')]).as('kept_bytes'),
    ])
    .where('project_id', '=', projectId)
    .where('idempotency_key', '=', key)
    .executeTakeFirst()
}

/** Returns the kept answer of a request. */
export async function readKept(
  { store }: Pick<Tenancy, 'store'>,
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
 * Records a request before any of its work. Throws `rate_limited` if its project has `maxRecords`
 * of the last day that were not refused. An API key may have half of them.
 */
export async function openRecord(
  { store, now, records }: Pick<Tenancy, 'store' | 'now' | 'records'>,
  { projectId, key }: RecordRef,
  { fingerprint, keyId, maxRecords }: NewRequest,
): Promise<IdempotencyRecord> {
  const at = now()
  const bound = { projectId, keyId, maxRecords, now: at }
  requireRoom(records, bound)
  const record = { fingerprint, resource_id: randomText(20), status: null }
  const row = { project_id: projectId, idempotency_key: key, key_id: keyId, ...record, body: null, created_at: at }
  const change = async (changes: Changes) => {
    await countRecord(records, changes, bound)
    await changes.insertInto('idempotency').values(row).execute()
  }
  try {
    await store.change(aloneWith(projectId), change, { durable: 'later' })
  } catch (error) {
    recountRecords(records, projectId)
    throw error
  }
  return { ...record, kept_bytes: null }
}

/**
 * Keeps the answer of a request. Removes the project's oldest answers if all of them exceed
 * `maxBytes`.
 */
export async function closeRecord(
  { store, records }: Pick<Tenancy, 'store' | 'records'>,
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
    await countKept(records, changes, { projectId, bytes: answered.body?.length ?? 0, maxBytes })
    return closed
  }
  try {
    const closed = await store.change(aloneWith(projectId), change, { durable: 'later' })
    if (closed !== undefined && answered.status >= 400) noteRefused(records, { projectId, keyId: closed.key_id })
  } catch (error) {
    recountKept(records, projectId)
    throw error
  }
}

/** Removes the record of a request without effect. */
export async function dropRecord(
  { store, records }: Pick<Tenancy, 'store' | 'records'>,
  { projectId, key }: RecordRef,
): Promise<void> {
  const change = (changes: Queries) =>
    changes
      .deleteFrom('idempotency')
      .where('project_id', '=', projectId)
      .where('idempotency_key', '=', key)
      .returning('key_id')
      .executeTakeFirst()
  const dropped = await store.change(aloneWith(projectId), change, { durable: 'later' })
  if (dropped !== undefined) uncountRecord(records, { projectId, keyId: dropped.key_id })
}
