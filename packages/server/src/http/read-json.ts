import type { IncomingMessage } from 'node:http'
import { HoltError } from '@holt/protocol'
import { invalidField } from './field-issues.ts'

/** The largest JSON body. */
const maxJsonBytes = 4 * 1024 * 1024

/** The deepest nesting of a JSON body: the schemas need three levels. */
const maxDepth = 32

/** A body of 4 MiB arrives in this time even over 1.2 Mbit/s; slower senders hold a connection for nothing. */
const bodyTimeoutMs = 30_000

/** Reads and parses a JSON body. Nothing at all is `{}`: every field at its default. */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  if (!hasBody(request) && request.headers['content-type'] === undefined) return {}
  requireJsonType(request.headers['content-type'])
  const value = parse(await readBytes(request))
  refuseOddShapes(value)
  return value
}

/** Whether a request announces a body. */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
}

function requireJsonType(type: string | undefined): void {
  if (type !== undefined && /^application\/json\s*(?:;\s*charset="?utf-8"?\s*)?$/i.test(type)) return
  throw new HoltError('unsupported_media_type', 'The body must be application/json in UTF-8.')
}

async function readBytes(request: IncomingMessage): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > maxJsonBytes) throw tooLarge()
  const chunks: Buffer[] = []
  let size = 0
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const timer = setTimeout(
    () => reject(new HoltError('timeout', `The body did not arrive within ${bodyTimeoutMs / 1000} seconds.`)),
    bodyTimeoutMs,
  )
  const onData = (chunk: Buffer) => {
    size += chunk.length
    if (size > maxJsonBytes) reject(tooLarge())
    else chunks.push(chunk)
  }
  const onBreak = () => reject(invalidField('', 'broke off'))
  request.on('data', onData).once('end', resolve).once('error', onBreak).once('close', onBreak)
  try {
    await promise
  } finally {
    clearTimeout(timer)
    request.off('data', onData)
    request.off('end', resolve)
    request.off('close', onBreak)
  }
  return Buffer.concat(chunks)
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    throw invalidField('', 'must be JSON in UTF-8')
  }
}

/** Refuses nesting that no schema has, and the one name that would mean something to JavaScript itself. */
function refuseOddShapes(root: unknown): void {
  const open: { readonly value: unknown; readonly depth: number }[] = [{ value: root, depth: 1 }]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, depth } = next
    if (typeof value !== 'object' || value === null) continue
    if (depth > maxDepth) throw invalidField('', `must not be nested deeper than ${maxDepth}`)
    if (Object.hasOwn(value, '__proto__')) throw invalidField('', 'must not have a field named __proto__')
    for (const inner of Object.values(value))
      if (typeof inner === 'object') open.push({ value: inner, depth: depth + 1 })
  }
}

function tooLarge(): HoltError {
  return new HoltError('too_large', `A JSON body may have ${maxJsonBytes} bytes at the most.`)
}
