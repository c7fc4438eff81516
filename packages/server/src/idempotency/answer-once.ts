import { createHmac } from 'node:crypto'
import { HoltError, type IdKind, idPrefixes, randomText } from '@holt/protocol'
import type { Caller } from '../auth/authenticate.ts'
import type { Answer } from '../http/call.ts'
import { invalidField } from '../http/field-issues.ts'
import type { Service } from '../service.ts'
import type { Queries } from '../store/open-store.ts'
import { canonical } from './canonical.ts'
import { openSealed, seal } from './sealed-answer.ts'

interface Once {
  readonly caller: Caller
  /** The `Idempotency-Key`. */
  readonly key: string
  /** Opens the answer kept for this caller. */
  readonly secret: string
  /** What must be the same for the answer to be. */
  readonly request: unknown
  readonly answer: (newId: (kind: IdKind) => string) => Promise<Answer>
}

/** Requests of this process that have not been answered. One that stands open in the table and not here died with an earlier process. */
const running = new Set<string>()

/**
 * Answers a request with an `Idempotency-Key` once: the same key and request again gets the same answer, also after a restart. A request that died
 * with its process runs again under the same ids, so that what it had made is found. Failures are kept too, except those that say try again.
 * What is kept here waits for no disk: a record is durable before anything is that its request has changed, and an answer that a power cut takes is made again.
 */
export async function answerOnce(service: Service, once: Once): Promise<{ answer: Answer; replayed: boolean }> {
  if (!/^[\x21-\x7e]{1,255}$/.test(once.key))
    throw invalidField('/header/Idempotency-Key', 'must be 1 to 255 printable characters')
  const name = `${once.caller.projectId} ${once.key}`
  // Keyed, because a request may hold a secret that is short enough to be guessed.
  const fingerprint = createHmac('sha256', once.secret).update(canonical(once.request)).digest('hex')
  if (running.has(name)) {
    throw (await find(service, once))?.fingerprint === fingerprint
      ? new HoltError('idempotency_in_progress', 'The first request with this Idempotency-Key still runs.')
      : mismatch()
  }
  running.add(name)
  try {
    const record = (await find(service, once)) ?? (await reserve(service, once, fingerprint))
    if (record.fingerprint !== fingerprint) throw mismatch()
    const kept = record.status === null ? null : keptAnswer(once, { status: record.status, body: record.body })
    if (kept !== null) return { answer: kept, replayed: true }
    return { answer: await answerAndKeep(service, once, record.resource_id), replayed: false }
  } finally {
    running.delete(name)
  }
}

async function find({ store }: Service, { caller, key }: Once) {
  return store.db
    .selectFrom('idempotency')
    .selectAll()
    .where('project_id', '=', caller.projectId)
    .where('idempotency_key', '=', key)
    .executeTakeFirst()
}

async function reserve({ store, now }: Service, { caller, key }: Once, fingerprint: string) {
  const record = {
    project_id: caller.projectId,
    idempotency_key: key,
    fingerprint,
    resource_id: randomText(20),
    status: null,
    body: null,
    created_at: now(),
  }
  await store.change((changes) => changes.insertInto('idempotency').values(record).execute(), { durable: 'later' })
  return record
}

async function answerAndKeep(service: Service, once: Once, resourceId: string): Promise<Answer> {
  let made = 0
  const newId = (kind: IdKind) => `${idPrefixes[kind]}${made++ === 0 ? resourceId : randomText(20)}`
  try {
    const answer = await once.answer(newId)
    if ('json' in answer) await keep(service, once, { status: answer.status, json: answer.json })
    return answer
  } catch (error) {
    if (error instanceof HoltError && error.status < 500 && error.status !== 429) {
      await keep(service, once, {
        status: error.status,
        json: { code: error.code, message: error.message, details: error.details },
      })
    } else {
      await forget(service, once)
    }
    throw error
  }
}

async function keep(
  { store }: Service,
  { caller, key, secret }: Once,
  { status, json }: { status: number; json: unknown },
): Promise<void> {
  const sealed = seal(JSON.stringify(json), secret)
  const change = (changes: Queries) =>
    changes
      .updateTable('idempotency')
      .set({ status, body: sealed })
      .where('project_id', '=', caller.projectId)
      .where('idempotency_key', '=', key)
      .execute()
  await store.change(change, { durable: 'later' })
}

async function forget({ store }: Service, { caller, key }: Once): Promise<void> {
  const change = (changes: Queries) =>
    changes
      .deleteFrom('idempotency')
      .where('project_id', '=', caller.projectId)
      .where('idempotency_key', '=', key)
      .execute()
  await store.change(change, { durable: 'later' })
}

function keptAnswer({ secret }: Once, { status, body }: { status: number; body: string | null }): Answer {
  const text = body === null ? null : openSealed(body, secret)
  if (text === null) throw mismatch() // Another key of the project made that request: its answer is not this caller's.
  const json = JSON.parse(text)
  if (status >= 400)
    throw new HoltError(json.code, json.message, json.details === undefined ? {} : { details: json.details })
  return { status, json }
}

function mismatch(): HoltError {
  return new HoltError('idempotency_mismatch', 'This Idempotency-Key was used for another request.')
}
