import type { IncomingMessage } from 'node:http'
import { WholeBytes } from '@holt/async'
import { HoltError, maxBuildArgs } from '@holt/protocol'
import { invalidField } from '../../foundation/wire/field-issues.ts'
import type { BodyRoom } from '../../tenancy/limits/body-room.ts'
import type { KeptByRequest } from '../../tenancy/limits/kept-memory.ts'
import type { BodyScheduler } from './body-scheduler.ts'
import { refuseOddShape } from './json-shape.ts'

/** The largest JSON body. */
const maxJsonBytes = 4 * 1024 * 1024

/** A body of at most this many bytes is parsed at once. */
const smallBytes = 4 * 1024

/** The bytes of one body that are received before other bodies have their turns. */
const bytesPerTurn = 128 * 1024

/** The maximum number of fields of one object. `build_args` is the largest that a schema takes. */
const maxFields = maxBuildArgs

/**
 * The accounts that pay for a body, and the time that it may take to arrive. One account keeps it
 * until it is complete, and the other until its request is answered.
 */
export interface KeptFor {
  readonly room: BodyRoom
  readonly scheduler: BodyScheduler
  /** The project, or an empty text if a route takes no key. */
  readonly payer: string
  readonly request: KeptByRequest
  readonly timeoutMs: number
}

/**
 * Reads and parses a JSON body, and returns what `use` makes of the value. An absent body is `{}`:
 * every field at its default. Parsing and `use` wait for a turn if the body is large. Throws an
 * error of the catalogue.
 */
export async function readJson<Result>(
  request: IncomingMessage,
  kept: KeptFor,
  use: (value: unknown) => Result,
): Promise<Result> {
  if (!hasBody(request) && request.headers['content-type'] === undefined) return use({})
  requireJsonType(request.headers['content-type'])
  const pieces = await readPieces(request, kept)
  const read = () => {
    // A client that has left does not wait for the answer. Its project's turns are for other
    // clients.
    if (request.socket.destroyed) throw brokeOff()
    return use(parse(pieces.take()))
  }
  try {
    kept.request.takeBody(pieces.length)
    return pieces.length <= smallBytes ? read() : await kept.scheduler.run(kept.payer, read)
  } finally {
    pieces.clear()
  }
}

/** Returns true if a request announces a body. */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
}

function requireJsonType(type: string | undefined): void {
  if (type !== undefined && /^application\/json\s*(?:;\s*charset="?utf-8"?\s*)?$/i.test(type)) return
  throw new HoltError('unsupported_media_type', 'The body must be application/json in UTF-8.')
}

/**
 * Returns the whole body. The caller takes it from there, or clears it. Error listeners keep a
 * reference to it, and the request stays until its answer has left.
 */
async function readPieces(
  request: IncomingMessage,
  { room, scheduler, payer, timeoutMs }: KeptFor,
): Promise<WholeBytes> {
  if (Number(request.headers['content-length'] ?? 0) > maxJsonBytes) throw tooLarge()
  const body = new WholeBytes()
  let takenBytes = 0
  let bytesOfTurn = 0
  let isOver = false
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const timer = setTimeout(
    () => reject(new HoltError('timeout', `The body did not arrive within ${timeoutMs / 1000} seconds.`)),
    timeoutMs,
  )
  const onData = (chunk: Buffer) => {
    if (body.length + chunk.length > maxJsonBytes) return reject(tooLarge())
    try {
      room.take(payer, chunk.length)
    } catch (error) {
      return reject(error)
    }
    takenBytes += chunk.length
    body.add(chunk)
    bytesOfTurn += chunk.length
    if (bytesOfTurn < bytesPerTurn) return
    bytesOfTurn = 0
    request.pause()
    void scheduler.next(payer).then(() => {
      if (!isOver) request.resume()
    })
  }
  const onBreak = () => reject(brokeOff())
  request.on('data', onData).once('end', resolve).once('error', onBreak).once('close', onBreak)
  if (request.closed) onBreak()
  try {
    await promise
    return body
  } catch (error) {
    body.clear()
    throw error
  } finally {
    isOver = true
    clearTimeout(timer)
    request.off('data', onData)
    request.off('end', resolve)
    request.off('close', onBreak)
    room.give(payer, takenBytes)
  }
}

/** Parses a body whose shape a schema may accept. Throws for other shapes. */
function parse(bytes: Buffer): unknown {
  refuseOddShape(bytes)
  const value = parseText(bytes)
  refuseOddObjects(value)
  return value
}

function parseText(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    throw invalidField('', 'must be JSON in UTF-8')
  }
}

/**
 * Throws if an object has the one name that has a meaning in JavaScript itself, or more fields than
 * any schema takes. Each wrong field is an error of its own.
 */
function refuseOddObjects(root: unknown): void {
  const open: unknown[] = [root]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next !== 'object' || next === null) continue
    if (Object.hasOwn(next, '__proto__')) throw invalidField('', 'must not have a field named __proto__')
    const inner = Object.values(next)
    if (!Array.isArray(next) && inner.length > maxFields)
      throw invalidField('', `must not have an object of more than ${maxFields} fields`)
    for (const one of inner) if (typeof one === 'object') open.push(one)
  }
}

function brokeOff(): HoltError {
  return invalidField('', 'broke off')
}

function tooLarge(): HoltError {
  return new HoltError('too_large', `A JSON body may have at most ${maxJsonBytes} bytes.`)
}
