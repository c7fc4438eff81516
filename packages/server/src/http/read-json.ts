import type { IncomingMessage } from 'node:http'
import { HoltError, maxBuildArgs } from '@holt/protocol'
import { WholeBytes } from '@holt/streams'
import type { BodyRoom } from './body-room.ts'
import { invalidField } from './field-issues.ts'
import { refuseOddShape } from './json-shape.ts'
import type { KeptByRequest } from './kept-memory.ts'

/** The largest JSON body. */
const maxJsonBytes = 4 * 1024 * 1024

/** The most fields of one object. `build_args` is the largest that a schema takes. */
const maxFields = maxBuildArgs

/** On whose account a body is kept until it is whole, and then until its request is answered; and how long it may take to come. */
export interface KeptFor {
  readonly room: BodyRoom
  /** The project, or nothing where a route takes no key. */
  readonly payer: string
  readonly request: KeptByRequest
  readonly timeoutMs: number
}

/** Reads and parses a JSON body. Nothing at all is `{}`: every field at its default. */
export async function readJson(request: IncomingMessage, kept: KeptFor): Promise<unknown> {
  if (!hasBody(request) && request.headers['content-type'] === undefined) return {}
  requireJsonType(request.headers['content-type'])
  const bytes = await readBytes(request, kept)
  kept.request.takeBody(bytes.length)
  refuseOddShape(bytes)
  const value = parse(bytes)
  refuseOddObjects(value)
  return value
}

/** Returns true if a request announces a body. */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
}

function requireJsonType(type: string | undefined): void {
  if (type !== undefined && /^application\/json\s*(?:;\s*charset="?utf-8"?\s*)?$/i.test(type)) return
  throw new HoltError('unsupported_media_type', 'The body must be application/json in UTF-8.')
}

async function readBytes(request: IncomingMessage, { room, payer, timeoutMs }: KeptFor): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > maxJsonBytes) throw tooLarge()
  const body = new WholeBytes()
  let takenBytes = 0
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
  }
  const onBreak = () => reject(invalidField('', 'broke off'))
  request.on('data', onData).once('end', resolve).once('error', onBreak).once('close', onBreak)
  if (request.closed) onBreak()
  try {
    await promise
    return body.take()
  } finally {
    clearTimeout(timer)
    request.off('data', onData)
    request.off('end', resolve)
    request.off('close', onBreak)
    // Error listeners keep a reference to the body, and the request stays until its answer has
    // left.
    body.clear()
    room.give(payer, takenBytes)
  }
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    throw invalidField('', 'must be JSON in UTF-8')
  }
}

/**
 * Refuses the one name that has a meaning in JavaScript itself, and objects with more fields than
 * any schema takes, because each wrong field is an error of its own.
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

function tooLarge(): HoltError {
  return new HoltError('too_large', `A JSON body may have ${maxJsonBytes} bytes at the most.`)
}
