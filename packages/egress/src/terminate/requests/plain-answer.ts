import type { Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib'
import { mergePieces } from '@holt/async'
import { Masker, type Redaction } from '../secrets/masker.ts'
import type { Field } from '../secrets/put-in.ts'
import { redactFields } from '../secrets/redact.ts'
import { Redactor } from '../secrets/redactor.ts'
import { valuesOf } from './fields.ts'

const decoders = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
} as const

/** A response without secrets. */
export interface PlainAnswer {
  readonly fields: readonly Field[]
  /** Returns the body for the runtime. */
  body(from: Readable): Readable
}

/**
 * Removes the secrets from a response. An encoded response is decoded, although no encoding was
 * requested, because encoded bytes cannot be searched. Returns null if the encoding is unknown.
 */
export function plainAnswer(fields: readonly Field[], redactions: readonly Redaction[]): PlainAnswer | null {
  if (redactions.length === 0) return { fields, body: (from) => from }
  const coding = valuesOf(fields, 'content-encoding').join(',').trim().toLowerCase()
  const decode = coding === '' || coding === 'identity' ? null : decoderOf(coding)
  if (decode === undefined) return null
  const clean = redactFields(fields, redactions)
  // A length shows that the response is one whole. Without one, parts of it may be messages that a
  // program answers (SSE, gRPC).
  const isWhole = valuesOf(fields, 'content-length').length > 0
  const redactor = () => new Redactor(new Masker(redactions), { isWhole })
  if (decode === null) return { fields: clean, body: (from) => chain(from, redactor()) }
  const decoded = clean.filter(([name]) => !['content-encoding', 'content-length'].includes(name.toLowerCase()))
  return { fields: decoded, body: (from) => chain(chain(from, decode()), redactor()) }
}

function decoderOf(coding: string) {
  return Object.hasOwn(decoders, coding) ? decoders[coding as keyof typeof decoders] : undefined
}

/** Pipes into a stream, and forwards failures. */
function chain<To extends Readable & NodeJS.WritableStream>(from: Readable, to: To): To {
  from.once('error', (error) => to.destroy(error))
  to.once('close', () => from.destroy())
  return from.pipe(mergePieces(to))
}
