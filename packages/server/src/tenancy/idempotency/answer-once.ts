import { createHmac } from 'node:crypto'
import { failpoint } from '@holt/failpoints'
import { HoltError, type IdKind, idPrefixes, randomText } from '@holt/protocol'
import { isEngineError } from '../../foundation/errors/engine-errors.ts'
import type { Caller } from '../../foundation/request/caller.ts'
import { maxKeptAnswerBytes } from '../../foundation/rows/kept-answers.ts'
import { readOneByOne } from '../../foundation/store/read-one-by-one.ts'
import type { Answer } from '../../foundation/wire/call.ts'
import { invalidField } from '../../foundation/wire/field-issues.ts'
import { jsonHeaders } from '../../foundation/wire/json-headers.ts'
import type { Tenancy } from '../tenancy.ts'
import { canonical } from './canonical.ts'
import { claimRun, findOrOpen, inProgress, TakenOver } from './claim-record.ts'
import { type HashedBody, isSameBody } from './hashed-body.ts'
import type { RecordKeys } from './record-keys.ts'
import { closeRecord, dropRecord, type IdempotencyRecord, type RecordRef, type RunRef, readKept } from './records.ts'
import { type AnswerOwner, openSealed, seal, sealedBytesToText } from './sealed-answer.ts'

interface Once {
  readonly caller: Caller
  /** The `Idempotency-Key`. */
  readonly key: string
  /** The keys for the records of the caller's project. */
  readonly keys: RecordKeys
  /**
   * The request, which must be the same for the same answer. The sender within the project may
   * differ.
   */
  readonly request: unknown
  /**
   * True if the answer holds a secret that is shown once. Only the same API key gets it again, with
   * any of its secrets.
   */
  readonly showsSecret: boolean
  /** True if the answer has a token, which no worker may read. Default: that of `showsSecret`. */
  readonly hasToken?: boolean
  /** Returns true if a kept JSON answer of this status has the form that the request asks for. */
  readonly takesJson: (status: number) => boolean
  /** The body, which must also be the same, if it is bytes. */
  readonly bytes: HashedBody | null
  readonly answer: (ids: RequestIds) => Promise<Answer>
  /** Reserves memory for an answer of this size. */
  readonly keepAnswer: (bytes: number) => void
}

/** The ids of a request, which are the same when it runs again. */
export interface RequestIds {
  readonly newId: (kind: IdKind) => string
  /** Returns the id by which a guest knows the request. */
  readonly operation: () => string | null
}

/**
 * Answers a request with an `Idempotency-Key` once. The same key and request gets the same answer
 * again, also after a restart. A request that died with its process runs again with the same ids,
 * so that it finds its earlier results. Failures are kept too, except those that call for a retry.
 * Records wait for no disk: a record is durable before the changes of its request. An answer that a
 * power loss deletes is made again.
 */
export async function answerOnce(service: Tenancy, once: Once): Promise<{ answer: Answer; replayed: boolean }> {
  requireKey(once.key)
  const ref = { projectId: once.caller.projectId, key: once.key }
  const fingerprint = fingerprintOf(once)
  const running = service.records.runningOf(ref.projectId)
  const underWay = running.get(ref.key)
  if (underWay !== undefined) {
    throw underWay === fingerprint ? inProgress() : mismatch()
  }
  running.set(ref.key, fingerprint)
  try {
    const found = await findOrOpen(service, ref, {
      fingerprint,
      keyId: once.caller.keyId,
      maxRecords: service.limits.maxKeyedPerProject,
    })
    const { record } = found
    await failpoint('idempotency.reserved')
    const [ofRequest, ofBytes = ''] = record.fingerprint.split(' ')
    if (ofRequest !== fingerprint) throw mismatch()
    if (record.status === null) {
      const run = await claimRun(service, ref, found)
      return { answer: await answerAndKeep(service, run, { once, record, fingerprint }), replayed: false }
    }
    if (once.bytes !== null && !(await isSameBody(once.bytes, ofBytes, service.limits.quietBodyMs))) throw mismatch()
    if (!once.takesJson(record.status)) throw keptAsJson()
    return {
      answer: await replay(service, ref, { once, status: record.status, bytes: record.kept_bytes ?? 0 }),
      replayed: true,
    }
  } finally {
    running.delete(ref.key)
  }
}

/** Throws if a text is not a valid `Idempotency-Key`. */
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

/** A worker reads the records of its projects, and has the keys of answers without secrets. */
function answerKeyOf({ keys, showsSecret, hasToken = showsSecret }: Once): Uint8Array {
  return hasToken ? keys.secretAnswer : keys.answer
}

interface Answering {
  readonly once: Once
  readonly record: IdempotencyRecord
  readonly fingerprint: string
}

/**
 * Answers a request and keeps the answer. A stream is not kept: a repeated request is answered from
 * the results of the first.
 */
async function answerAndKeep(service: Tenancy, run: RunRef, { once, record, fingerprint }: Answering): Promise<Answer> {
  let made = 0
  let hasOperated = false
  const operation = () => {
    hasOperated = true
    return record.resource_id
  }
  const newId = (kind: IdKind) => `${idPrefixes[kind]}${made++ === 0 ? record.resource_id : randomText(20)}`
  const keep = async (status: number, json: unknown, shorten?: Shorten) => {
    const ofBytes = once.bytes?.fingerprint()
    // The body was not read completely, so a repeated one could not be recognised.
    if (ofBytes === null) return
    const whole = ofBytes === undefined ? fingerprint : `${fingerprint} ${ofBytes}`
    const text = keptText(json, shorten)
    const body = text === null ? null : seal(text, answerKeyOf(once), ownerOf(once))
    const isKept = await closeRecord(service, run, { fingerprint: whole, status, body })
    if (!isKept && service.records.askRunner !== null) throw new TakenOver()
  }
  try {
    const answer = await once.answer({ newId, operation })
    await keepIfItCan(service, answer, keep)
    return answer
  } catch (error) {
    if (mayHaveHappened(service, { error, hasOperated })) throw error
    if (isRefusal(error))
      await keep(error.status, { code: error.code, message: error.message, hint: error.hint, details: error.details })
    else await dropRecord(service, run)
    throw error
  }
}

type Shorten = (maxBytes: number) => unknown

/**
 * Returns the JSON to keep of an answer. Returns null if even its short form is too long. A result
 * with all output may have 50 MiB, and any key can create thousands.
 */
function keptText(json: unknown, shorten?: Shorten): string | null {
  const whole = JSON.stringify(json)
  if (Buffer.byteLength(whole) <= maxKeptAnswerBytes) return whole
  const short = shorten === undefined ? whole : JSON.stringify(shorten(maxKeptAnswerBytes))
  return Buffer.byteLength(short) <= maxKeptAnswerBytes ? short : null
}

/**
 * Keeps an answer if possible. The client gets the answer anyway, unless another host runs the
 * request: its answer is the one that counts. A repeated request runs with the same ids and finds
 * the results.
 */
async function keepIfItCan(
  { log }: Tenancy,
  answer: Answer,
  keep: (status: number, json: unknown, shorten?: Shorten) => Promise<void>,
): Promise<void> {
  try {
    await failpoint('idempotency.answered')
    if ('json' in answer) await keep(answer.status, answer.json, answer.shorten)
    else if (answer.status === 204) await keep(204, null)
    await failpoint('idempotency.kept')
  } catch (err) {
    if (err instanceof TakenOver) throw err
    log.error({ err }, 'the answer to a request with an Idempotency-Key could not be kept')
  }
}

/**
 * Returns true if a failed request may have had an effect. Examples are a stop of the service, a
 * disconnected client, an unexpected failure, or a command that may still run. A guest may also
 * have acted without an answer. The request then runs again with the same ids and finds the
 * results.
 */
function mayHaveHappened(
  { closing }: Tenancy,
  { error, hasOperated }: { error: unknown; hasOperated: boolean },
): boolean {
  if (closing.aborted || (hasOperated && !isRefusal(error))) return true
  if (error instanceof HoltError) return error.details?.command_id !== undefined
  return !isEngineError(error)
}

/** Returns true for a failure that does not call for a retry. */
function isRefusal(error: unknown): error is HoltError {
  return error instanceof HoltError && error.status < 500 && error.status !== 429
}

/**
 * Returns a kept answer. Reads in turn, because an answer may have a MiB, and a client can request
 * it a thousand times at once. An answer without room is not read.
 */
function replay(
  service: Tenancy,
  ref: RecordRef,
  { once, status, bytes }: { once: Once; status: number; bytes: number },
): Promise<Answer> {
  return readOneByOne(service, { projectId: `${ref.projectId} replays` }, async () => {
    once.keepAnswer(sealedBytesToText(bytes))
    return keptAnswer(once, { status, body: await readKept(service, ref) })
  })
}

function keptAnswer(once: Once, { status, body }: { status: number; body: string | null }): Answer {
  // Another owner has another fingerprint. An answer that does not open is damaged.
  const text = body === null ? null : openSealed(body, answerKeyOf(once), ownerOf(once))
  if (text === null) throw notKept()
  if (status < 400) return status === 204 ? { status } : { status, written: text, headers: jsonHeaders }
  const json = JSON.parse(text.toString())
  throw new HoltError(json.code, json.message, { hint: json.hint, details: json.details })
}

function mismatch(): HoltError {
  return new HoltError('idempotency_mismatch', 'This Idempotency-Key was used for another request.')
}

/**
 * Returns the error for a request for a stream. A stream shows progress, and only the end is kept.
 */
function keptAsJson(): HoltError {
  return new HoltError('idempotency_mismatch', 'The answer under this Idempotency-Key is JSON, not a stream.', {
    hint: 'Send the request again without a stream, or use a new Idempotency-Key.',
  })
}

/** Returns the error for an answer that is not kept. The request is still not done twice. */
function notKept(): HoltError {
  return new HoltError('conflict', 'The request with this Idempotency-Key was answered, but the answer was not kept.', {
    hint: 'Read the current state. To do the request again, send it with another key.',
  })
}
