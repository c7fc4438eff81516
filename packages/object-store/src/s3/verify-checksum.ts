import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { partBytesHeader } from './own-writes.ts'

/** Compares the bytes of a whole object with the checksum that the store has of them. */
export interface Verifier {
  add(piece: Uint8Array): void
  matches(): boolean
}

/**
 * Returns a verifier for the SHA-256 in the head of an answer; null if it has none. The checksum of
 * an object in parts is the one of the checksums of its parts, and ends in their number
 * (docs.aws.amazon.com/AmazonS3/latest/userguide/checking-object-integrity.html, "composite").
 */
export function verifierOf(headers: IncomingHttpHeaders): Verifier | null {
  const [, digest, parts] = /^([A-Za-z0-9+/]{43}=)(?:-(\d+))?$/.exec(String(headers['x-amz-checksum-sha256'])) ?? []
  if (digest === undefined) return null
  const partBytes = Number(headers[partBytesHeader])
  if (parts === undefined) return new OfOnePart(digest)
  return Number.isSafeInteger(partBytes) && partBytes > 0 ? new OfParts(digest, partBytes) : null
}

class OfOnePart implements Verifier {
  readonly #hash = createHash('sha256')
  readonly #digest: string

  constructor(digest: string) {
    this.#digest = digest
  }

  add(piece: Uint8Array): void {
    this.#hash.update(piece)
  }

  matches(): boolean {
    return this.#hash.digest('base64') === this.#digest
  }
}

class OfParts implements Verifier {
  readonly #digest: string
  readonly #partBytes: number
  readonly #ofParts = createHash('sha256')
  #part = createHash('sha256')
  #filled = 0

  constructor(digest: string, partBytes: number) {
    this.#digest = digest
    this.#partBytes = partBytes
  }

  add(piece: Uint8Array): void {
    for (let at = 0; at < piece.length; ) {
      const taken = piece.subarray(at, at + this.#partBytes - this.#filled)
      this.#part.update(taken)
      at += taken.length
      this.#filled += taken.length
      if (this.#filled === this.#partBytes) this.#endPart()
    }
  }

  matches(): boolean {
    if (this.#filled > 0) this.#endPart()
    return this.#ofParts.digest('base64') === this.#digest
  }

  #endPart(): void {
    this.#ofParts.update(this.#part.digest())
    this.#part = createHash('sha256')
    this.#filled = 0
  }
}
