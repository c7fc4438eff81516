import { createHmac } from 'node:crypto'
import { failpoint } from '@holt/engine'
import { HoltError, type IdKind, idPrefixes, randomText } from '@holt/protocol'
import type { Caller } from '../auth/authenticate.ts'
import { isEngineError } from '../engine-errors.ts'
import type { Answer } from '../http/call.ts'
import { invalidField } from '../http/field-issues.ts'
import type { Service } from '../service.ts'
import { readInTurn } from '../store/read-in-turn.ts'
import { canonical } from './canonical.ts'
import { type HashedBody, isSameBody } from './hashed-body.ts'
import { maxKeptAnswerBytes } from './kept-bytes.ts'
import type { RecordKeys } from './record-keys.ts'
import {
  closeRecord,
  dropRecord,
  findRecord,
  type IdempotencyRecord,
  openRecord,
  type RecordRef,
  readKept,
} from './records.ts'
import { runningOf } from './running-requests.ts'
import { type AnswerOwner, openSealed, seal } from './sealed-answer.ts'

interface Once {
  readonly caller: Caller
  /** The `Idempotency-Key`. */
  readonly key: string
  /** What the records of the caller's project are made with. */
  readonly keys: RecordKeys
  /**
   * What must be the same for the answer to be: the request, and not who of the project sends it.
   */
  readonly request: unknown
  /**
   * Whether the answer has what is shown once: it is for the API key alone that asked, whichever of
   * its secrets is sent.
   */
  readonly showsSecret: boolean
  /** Whether an answer of this status that is kept, as JSON, is what the request asks for. */
  readonly takesJson: (status: number) => boolean
  /** What must be as well, where the request's body is bytes. */
  readonly bytes: HashedBody | null
  readonly answer: (ids: RequestIds) => Promise<Answer>
  /** Makes room for an answer of so many bytes. */
  readonly keepAnswer: (bytes: number) => void
}

/** The ids of a request, which are the same when it runs again. */
export interface RequestIds {
  readonly newId: (kind: IdKind) => string
  /** What a guest knows it by. */
  readonly operation: () => string | null
}

/**
 * Answers a request with an `Idempotency-Key` once: the same key and request again gets the same
 * answer, also after a restart. A request that died with its process runs again under the same ids,
 * so that what it had made is found. Failures are kept too, except those that say try again. What
 * is kept here waits for no disk: a record is durable before anything is that its request has
 * changed, and an answer that a power cut takes is made again.
 */
export async function answerOnce(service: Service, once: Once): Promise<{ answer: Answer; replayed: boolean }> {
  requireKey(once.key)
  const ref = { projectId: once.caller.projectId, key: once.key }
  const fingerprint = fingerprintOf(once)
  const running = runningOf(service.store, ref.projectId)
  const underWay = running.get(ref.key)
  if (underWay !== undefined) {
    throw underWay === fingerprint
      ? new HoltError('idempotency_in_progress', 'The first request with this Idempotency-Key still runs.')
      : mismatch()
  }
  running.set(ref.key, fingerprint)
  try {
    const record =
      (await findRecord(service, ref)) ??
      (await openRecord(service, ref, {
        fingerprint,
        keyId: once.caller.keyId,
        maxRecords: service.limits.maxKeyedPerProject,
      }))
    await failpoint('idempotency.reserved')
    const [ofRequest, ofBytes = ''] = record.fingerprint.split(' ')
    if (ofRequest !== fingerprint) throw mismatch()
    if (record.status === null)
      return { answer: await answerAndKeep(service, ref, { once, record, fingerprint }), replayed: false }
    if (once.bytes !== null && !(await isSameBody(once.bytes, ofBytes, service.limits.quietBodyMs))) throw mismatch()
    if (!once.takesJson(record.status)) throw keptAsJson()
    return { answer: await replay(service, ref, { once, status: record.status }), replayed: true }
  } finally {
    running.delete(ref.key)
  }
}

/** Refuses what is no `Idempotency-Key`. */
export function requireKey(key: string): void {
  if (!/^[\x21-\x7e]{1,255}$/.test(key))
    throw invalidField('/header/Idempotency-Key', 'must be 1 to 255 printable characters')
}

function fingerprintOf({ caller, keys, request, showsSecret }: Once): string {
  const whose = showsSecret ? { request, key_id: caller.keyId } : { request }
  return createHmac('sha256', keys.fingerprint).update(canonical(whose)).digest('hex')
}

function ownerOf({ caller, key, showsSecret }: Once): AnswerOwner {
  return [caller.projectId, key, ...(showsSecret ? [caller.keyId] : [])]
}

interface Answering {
  readonly once: Once
  readonly record: IdempotencyRecord
  readonly fingerprint: string
}

/** A stream is not kept: who asks again is answered from what the request has made. */
async function answerAndKeep(
  service: Service,
  ref: RecordRef,
  { once, record, fingerprint }: Answering,
): Promise<Answer> {
  let made = 0
  let hasOperated = false
  const operation = () => {
    hasOperated = true
    return record.resource_id
  }
  const newId = (kind: IdKind) => `${idPrefixes[kind]}${made++ === 0 ? record.resource_id : randomText(20)}`
  const keep = async (status: number, json: unknown, shorten?: Shorten) => {
    const ofBytes = once.bytes?.fingerprint()
    if (ofBytes === null) return // Not all of the body was read, so that the same one could not be told from others.
    const whole = ofBytes === undefined ? fingerprint : `${fingerprint} ${ofBytes}`
    const text = keptText(json, shorten)
    const body = text === null ? null : seal(text, once.keys.answer, ownerOf(once))
    await closeRecord(service, ref, { fingerprint: whole, status, body })
  }
  try {
    const answer = await once.answer({ newId, operation })
    await keepIfItCan(service, answer, keep)
    return answer
  } catch (error) {
    if (mayHaveHappened(service, { error, hasOperated })) throw error
    if (isRefusal(error))
      await keep(error.status, { code: error.code, message: error.message, hint: error.hint, details: error.details })
    else await dropRecord(service, ref)
    throw error
  }
}

type Shorten = (maxBytes: number) => unknown

/**
 * An answer as it is kept; null where it is too long for that, also in short. A result with all of
 * its output may have 50 MiB, and any key may ask for thousands.
 */
function keptText(json: unknown, shorten?: Shorten): string | null {
  const whole = JSON.stringify(json)
  if (Buffer.byteLength(whole) <= maxKeptAnswerBytes) return whole
  const short = shorten === undefined ? whole : JSON.stringify(shorten(maxKeptAnswerBytes))
  return Buffer.byteLength(short) <= maxKeptAnswerBytes ? short : null
}

/**
 * What was done is told though its answer cannot be kept: the request again runs under the same
 * ids, and finds what was made.
 */
async function keepIfItCan(
  { log }: Service,
  answer: Answer,
  keep: (status: number, json: unknown, shorten?: Shorten) => Promise<void>,
): Promise<void> {
  try {
    await failpoint('idempotency.answered')
    if ('json' in answer) await keep(answer.status, answer.json, answer.shorten)
    else if (answer.status === 204) await keep(204, null)
    await failpoint('idempotency.kept')
  } catch (err) {
    log.error({ err }, 'the answer to a request with an Idempotency-Key could not be kept')
  }
}

/**
 * Whether something may have come of a request though its answer says nothing of it: the service
 * stops, the client has gone, nobody expected the failure, or a command may still run. A guest that
 * was told to do something may have done it, though nothing came back. Then it runs again under the
 * same ids, and finds that.
 */
function mayHaveHappened(
  { closing }: Service,
  { error, hasOperated }: { error: unknown; hasOperated: boolean },
): boolean {
  if (closing.aborted || (hasOperated && !isRefusal(error))) return true
  if (error instanceof HoltError) return error.details?.command_id !== undefined
  return !isEngineError(error)
}

/** A failure that does not say try again. */
function isRefusal(error: unknown): error is HoltError {
  return error instanceof HoltError && error.status < 500 && error.status !== 429
}

/** An answer may have a MiB, and whoever has one can ask for it a thousand times at once. */
function replay(service: Service, ref: RecordRef, { once, status }: { once: Once; status: number }): Promise<Answer> {
  return readInTurn(service.store, { projectId: `${ref.projectId} replays` }, async () => {
    const body = await readKept(service, ref)
    once.keepAnswer(Math.floor((body?.length ?? 0) / 2))
    return keptAnswer(once, { status, body })
  })
}

function keptAnswer(once: Once, { status, body }: { status: number; body: string | null }): Answer {
  // For another owner the fingerprint is another: what does not open is damaged.
  const text = body === null ? null : openSealed(body, once.keys.answer, ownerOf(once))
  if (text === null) throw notKept()
  const json = JSON.parse(text)
  if (status >= 400) throw new HoltError(json.code, json.message, { hint: json.hint, details: json.details })
  return status === 204 ? { status } : { status, json }
}

function mismatch(): HoltError {
  return new HoltError('idempotency_mismatch', 'This Idempotency-Key was used for another request.')
}

/** A stream shows what happens as it does, and what is kept is how it ended. */
function keptAsJson(): HoltError {
  return new HoltError('idempotency_mismatch', 'The answer under this Idempotency-Key is JSON, and not a stream.', {
    hint: 'Send the request again without asking for a stream, or use a new Idempotency-Key.',
  })
}

/** That it is not done twice holds without the answer as well. */
function notKept(): HoltError {
  return new HoltError('conflict', 'The request with this Idempotency-Key was answered, and the answer is not kept.', {
    hint: 'Look at what it has done; to have it done once more, send it with another key.',
  })
}
