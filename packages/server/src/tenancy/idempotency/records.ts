import { randomText } from '@holt/protocol'
import type { ThisHost } from '../../foundation/host/this-host.ts'
import { aloneWith, aloneWithRow } from '../../foundation/store/alone.ts'
import type { Changes, Queries } from '../../foundation/store/open-store.ts'
import type { Tenancy } from '../tenancy.ts'
import { countKept, maxKeptBytesOfProject, recountKept } from './kept-bytes.ts'
import { countRecord, noteRefused, recountRecords, requireRoom, uncountRecord } from './kept-records.ts'

/** The project and the `Idempotency-Key` of a record. */
export interface RecordRef {
  readonly projectId: string
  readonly key: string
}

/** A run of the request of a record. */
export interface RunRef extends RecordRef {
  readonly run: number
}

/** A record of a request. `status` is null until it is answered. */
export interface IdempotencyRecord {
  readonly fingerprint: string
  /** The random part of the id of the thing that the request makes. */
  readonly resource_id: string
  readonly status: number | null
  /** The length of the kept answer as stored, in bytes. Null without an answer. */
  readonly kept_bytes: number | null
  /** The host and its epoch that run the request, or ran it. Null: an earlier version did. */
  readonly runner_host: string | null
  readonly runner_epoch: number | null
  /** The number of its run: one more each time that a host of a fleet runs it again. */
  readonly run: number
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
      'runner_host',
      'runner_epoch',
      'run',
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
 * Records a request before any of its work, with this host as its runner. Returns null if another
 * host was quicker. Throws `rate_limited` if its project has `maxRecords` of the last day that were
 * not refused. An API key may have half of them.
 */
export async function openRecord(
  { store, now, records, thisHost }: Pick<Tenancy, 'store' | 'now' | 'records' | 'thisHost'>,
  { projectId, key }: RecordRef,
  { fingerprint, keyId, maxRecords }: NewRequest,
): Promise<IdempotencyRecord | null> {
  const at = now()
  const bound = { projectId, keyId, maxRecords, now: at }
  requireRoom(records, bound)
  const record = { fingerprint, resource_id: randomText(20), status: null, ...runnerOf(thisHost), run: 0 }
  const row = { project_id: projectId, idempotency_key: key, key_id: keyId, ...record, body: null, created_at: at }
  const change = async (changes: Changes) => {
    await countRecord(records, changes, bound)
    return changes
      .insertInto('idempotency')
      .values(row)
      .onConflict((conflict) => conflict.doNothing())
      .returning('run')
      .executeTakeFirst()
  }
  try {
    const opened = await store.change(aloneWith(projectId), change, { durable: 'later' })
    if (opened === undefined) uncountRecord(records, { projectId, keyId })
    return opened === undefined ? null : { ...record, kept_bytes: null }
  } catch (error) {
    recountRecords(records, projectId)
    throw error
  }
}

/**
 * Makes this host the runner of an open record. Returns its next run, or null if another host was
 * quicker, or if the record is not open any more.
 */
export async function takeRecord(
  { store, thisHost }: Pick<Tenancy, 'store' | 'thisHost'>,
  { projectId, key, run }: RunRef,
): Promise<number | null> {
  const change = (changes: Queries) =>
    changes
      .updateTable('idempotency')
      .set({ ...runnerOf(thisHost), run: run + 1 })
      .where('project_id', '=', projectId)
      .where('idempotency_key', '=', key)
      .where('run', '=', run)
      .where('status', 'is', null)
      .returning('run')
      .executeTakeFirst()
  return (await store.change(aloneWithRow, change))?.run ?? null
}

function runnerOf({ hostId, epoch }: ThisHost) {
  return { runner_host: hostId, runner_epoch: epoch }
}

/**
 * Keeps the answer of a run. Returns false if another run has taken the record over, or the record
 * was removed. Removes the project's oldest answers if all of them exceed `maxBytes`.
 */
export async function closeRecord(
  { store, records }: Pick<Tenancy, 'store' | 'records'>,
  { projectId, key, run }: RunRef,
  answered: KeptAnswer,
  maxBytes: number = maxKeptBytesOfProject,
): Promise<boolean> {
  const change = async (changes: Changes) => {
    const closed = await changes
      .updateTable('idempotency')
      .set(answered)
      .where('project_id', '=', projectId)
      .where('idempotency_key', '=', key)
      .where('run', '=', run)
      .returning('key_id')
      .executeTakeFirst()
    if (closed === undefined) return closed
    await countKept(records, changes, { projectId, bytes: answered.body?.length ?? 0, maxBytes })
    return closed
  }
  try {
    const closed = await store.change(aloneWith(projectId), change, { durable: 'later' })
    if (closed !== undefined && answered.status >= 400) noteRefused(records, { projectId, keyId: closed.key_id })
    return closed !== undefined
  } catch (error) {
    recountKept(records, projectId)
    throw error
  }
}

/** Removes the record of a run without effect. A record that another run has stays. */
export async function dropRecord(
  { store, records }: Pick<Tenancy, 'store' | 'records'>,
  { projectId, key, run }: RunRef,
): Promise<void> {
  const change = (changes: Queries) =>
    changes
      .deleteFrom('idempotency')
      .where('project_id', '=', projectId)
      .where('idempotency_key', '=', key)
      .where('run', '=', run)
      .returning('key_id')
      .executeTakeFirst()
  const dropped = await store.change(aloneWith(projectId), change, { durable: 'later' })
  if (dropped !== undefined) uncountRecord(records, { projectId, keyId: dropped.key_id })
}
