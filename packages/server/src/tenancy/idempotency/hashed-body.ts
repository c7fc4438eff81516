import { createHmac } from 'node:crypto'
import { type Readable, Transform } from 'node:stream'
import { mergePieces } from '@holt/async'
import { HoltError } from '@holt/protocol'
import { isSameSecret } from '../../foundation/sealing/is-same-secret.ts'
import { passOn } from '../../foundation/wire/pass-on.ts'

/** A request's bytes, with a fingerprint once all have been read. */
export interface HashedBody {
  readonly body: Readable
  /** Returns the length and keyed digest, or null while not all has been read. */
  fingerprint(): string | null
}

/** Passes a body on and computes its digest, with the key of the request's fingerprint. */
export function hashedBody(source: Readable, key: Uint8Array): HashedBody {
  const hash = createHmac('sha256', key)
  let bytes = 0
  let digest: string | null = null
  const body = new Transform({
    transform: (chunk: Buffer, _, done) => {
      hash.update(chunk)
      bytes += chunk.length
      done(null, chunk)
    },
    flush: (done) => {
      digest = hash.digest('hex')
      done()
    },
  })
  body.on('error', () => {}) // The reader of the body gets the error.
  passOn(source, mergePieces(body))
  return { body, fingerprint: () => (digest === null ? null : `${bytes}.${digest}`) }
}

/**
 * Reads a repeated body, no further than necessary. Returns true if it matches the fingerprint.
 * Destroys a body that sends nothing for `quietMs`.
 */
export async function isSameBody(hashed: HashedBody, fingerprint: string, quietMs: number): Promise<boolean> {
  let left = Number(fingerprint.split('.', 1)[0])
  const onQuiet = () => hashed.body.destroy(new HoltError('timeout', `No byte arrived for ${quietMs / 1000} seconds.`))
  const timer = setTimeout(onQuiet, quietMs)
  try {
    for await (const chunk of hashed.body.iterator({ destroyOnReturn: false })) {
      timer.refresh()
      left -= (chunk as Buffer).length
      if (left < 0) return false
    }
  } finally {
    clearTimeout(timer)
  }
  return isSameSecret(hashed.fingerprint() ?? '', fingerprint)
}
