import { createHash, type Hash } from 'node:crypto'
import { EngineError } from './contract.ts'
import {
  type ArtifactDescription,
  type ArtifactFile,
  type ByteRange,
  type FileDigest,
  transferBounds,
} from './transfer.ts'

const MIB = 2 ** 20

/**
 * Checks the form and the bounds of a description that came from elsewhere. Throws kind `invalid`.
 */
export function checkDescription({ ref, files, classId, imageDigest, details }: ArtifactDescription): void {
  const require = (isRight: boolean, what: string) => {
    if (!isRight) throw new EngineError('invalid', `the description of ${JSON.stringify(ref.id)} is not valid: ${what}`)
  }
  const isImage = ref.kind === 'image'
  require(isImage === (imageDigest === null), 'a checkpoint needs an image, and an image none')
  require(isImage === (classId === null), 'a checkpoint has a class, and an image none')
  require(files.length > 0 && files.length <= transferBounds.files, 'the number of files')
  require(new Set(files.map(({ name }) => name)).size === files.length, 'two files have one name')
  for (const { name, sizeBytes, digest } of files) {
    require(/^[a-z0-9_-][a-z0-9._-]{0,63}$/.test(name), 'the name of a file')
    require(Number.isSafeInteger(sizeBytes) && sizeBytes >= 0, `the size of ${name}`)
    require(/^sha256(?:-mib)?:[0-9a-f]{64}$/.test(digest), `the digest of ${name}`)
  }
  require(bytesOf(files) <= transferBounds.bytes, 'the size of all files')
  require(details.length <= transferBounds.details, 'the length of the details')
}

/** Returns the bytes of files together. */
export function bytesOf(files: readonly ArtifactFile[]): number {
  return files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
}

/** Returns true if a range is one of a file of this size, in bytes. */
export function isInside({ offset, length }: ByteRange, sizeBytes: number): boolean {
  const areCounts = [offset, length].every((value) => Number.isSafeInteger(value) && value >= 0)
  return areCounts && offset + length <= sizeBytes
}

/**
 * Passes on the content of a file. Throws kind `damaged` as soon as there are too many bytes. At
 * the end it throws `damaged` if the size or the digest differs.
 */
export async function* verified(file: ArtifactFile, content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const hash = new ContentHash(file.digest)
  let sizeBytes = 0
  for await (const bytes of content) {
    sizeBytes += bytes.length
    if (sizeBytes > file.sizeBytes) throw new EngineError('damaged', `${file.name} is longer than described`)
    hash.update(bytes)
    yield bytes
  }
  if (sizeBytes < file.sizeBytes) throw new EngineError('damaged', `${file.name} is shorter than described`)
  if (!hash.matches()) throw new EngineError('damaged', `${file.name} does not have its digest`)
}

/** Computes a digest of content that arrives in parts. */
class ContentHash {
  readonly #expected: FileDigest
  readonly #whole = createHash('sha256')
  /** The present MiB; null if the digest is over the content itself. */
  #part: Hash | null
  #partBytes = 0

  constructor(expected: FileDigest) {
    this.#expected = expected
    this.#part = expected.startsWith('sha256-mib:') ? createHash('sha256') : null
  }

  update(bytes: Uint8Array): void {
    if (this.#part === null) {
      this.#whole.update(bytes)
      return
    }
    for (let at = 0; at < bytes.length; ) {
      const part = bytes.subarray(at, at + MIB - this.#partBytes)
      this.#part.update(part)
      at += part.length
      this.#partBytes += part.length
      if (this.#partBytes === MIB) this.#endPart(this.#part)
    }
  }

  matches(): boolean {
    if (this.#part !== null && this.#partBytes > 0) this.#endPart(this.#part)
    return this.#expected.endsWith(`:${this.#whole.digest('hex')}`)
  }

  #endPart(part: Hash): void {
    this.#whole.update(part.digest())
    this.#part = createHash('sha256')
    this.#partBytes = 0
  }
}
