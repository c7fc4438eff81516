import { GatheredBytes } from '@holt/async'
import { ConnectError } from '../errors/connect-error.ts'
import { type PartHeaders, partHeaders } from './part-headers.ts'

// Reads a form of multipart/form-data (RFC 2046, 5.1.1) as it arrives. Well-known libraries undo
// backslashes in file names, which the clients of E2B do not write.

/** A part of a form. */
export interface Part extends PartHeaders {
  /** The bytes, which end with the part. Unread bytes are skipped. */
  readonly content: AsyncIterable<Buffer>
}

/** The bounds on a form. */
export interface PartLimits {
  readonly maxParts: number
  /** The maximum number of bytes in the headers of one part. */
  readonly maxHeaderBytes: number
}

const defaults: PartLimits = { maxParts: 10_000, maxHeaderBytes: 8 * 1024 }

/** The longest text before the first part, in bytes. Clients send none. */
const maxPreambleBytes = 1024

const lineEnd = Buffer.from('\r\n')
const headersEnd = Buffer.from('\r\n\r\n')

/** Returns the boundary in the media type of a form. Null: the type is another. */
export function boundaryOf(contentType: string | undefined): Buffer | null {
  const [, quoted, token] =
    /^multipart\/form-data\s*;(?:.*;)?\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70})(?=[\s;]|$))/i.exec(
      contentType ?? '',
    ) ?? []
  const boundary = quoted ?? token
  return boundary === undefined ? null : Buffer.from(boundary, 'latin1')
}

/**
 * Yields the parts of a form. Each part ends when the next one is requested. Throws
 * `invalid_argument` if the form is broken, and `resource_exhausted` if it exceeds a bound.
 */
export async function* readParts(
  body: AsyncIterable<Buffer>,
  boundary: Buffer,
  limits: Partial<PartLimits> = {},
): AsyncGenerator<Part> {
  const { maxParts, maxHeaderBytes } = { ...defaults, ...limits }
  const delimiter = Buffer.concat([lineEnd, Buffer.from('--'), boundary])
  const bytes = new FormBytes(body)
  // The first delimiter has no line end before it.
  bytes.unread(lineEnd)
  await bytes.take(delimiter, maxPreambleBytes + delimiter.length, 'The form has no first boundary.')
  for (let parts = 0; await hasNext(bytes); parts += 1) {
    if (parts === maxParts) throw new ConnectError('resource_exhausted', `A form may have at most ${maxParts} parts.`)
    bytes.unread(lineEnd)
    const head = await bytes.take(headersEnd, maxHeaderBytes, 'The headers of a part are broken or too long.')
    const content = bytes.until(delimiter)
    // A reader that stops early must not end the generator, which has to find the boundary.
    yield { ...partHeaders(head), content: { [Symbol.asyncIterator]: () => ({ next: () => content.next() }) } }
    while ((await content.next()).done !== true);
  }
}

/** Reads what follows a boundary: the line end before a part, or the end of the form. */
async function hasNext(bytes: FormBytes): Promise<boolean> {
  const start = await bytes.exactly(2)
  if (start.equals(Buffer.from('--'))) return false
  if (start.equals(lineEnd)) return true
  throw new ConnectError('invalid_argument', 'The form has other bytes after a boundary.')
}

/** The unread bytes of a form. */
class FormBytes {
  readonly #chunks: AsyncIterator<Buffer>
  #rest: Buffer = Buffer.alloc(0)

  constructor(body: AsyncIterable<Buffer>) {
    this.#chunks = body[Symbol.asyncIterator]()
  }

  /** Puts bytes before the next ones. */
  unread(bytes: Buffer): void {
    this.#rest = Buffer.concat([bytes, this.#rest])
  }

  /** Returns the next bytes. */
  async exactly(count: number): Promise<Buffer> {
    while (this.#rest.length < count) await this.#more()
    return this.#cut(count, 0)
  }

  /** Returns the bytes before `end`, and removes both. Throws `words` after `most` bytes. */
  async take(end: Buffer, most: number, words: string): Promise<Buffer> {
    const gathered = new GatheredBytes()
    for (;;) {
      const at = this.#rest.indexOf(end)
      if (at >= 0) {
        if (gathered.length + at > most) break
        gathered.add(this.#cut(at, end.length))
        return gathered.take()
      }
      if (gathered.length + this.#rest.length > most + end.length) break
      await this.#more()
    }
    throw new ConnectError('invalid_argument', words)
  }

  /** Yields the bytes before `end`, as they come, and removes both. */
  async *until(end: Buffer): AsyncGenerator<Buffer> {
    for (;;) {
      const at = this.#rest.indexOf(end)
      if (at >= 0) {
        const last = this.#cut(at, end.length)
        if (last.length > 0) yield last
        return
      }
      // The end may have begun in the last bytes.
      const sure = this.#rest.length - end.length + 1
      if (sure > 0) yield this.#cut(sure, 0)
      await this.#more()
    }
  }

  /** Removes the next bytes and returns them. Removes others behind them, too. */
  #cut(count: number, others: number): Buffer {
    const bytes = this.#rest.subarray(0, count)
    this.#rest = this.#rest.subarray(count + others)
    return bytes
  }

  async #more(): Promise<void> {
    const next = await this.#chunks.next()
    if (next.done === true) throw new ConnectError('invalid_argument', 'The form ends before its last boundary.')
    this.#rest = this.#rest.length === 0 ? next.value : Buffer.concat([this.#rest, next.value])
  }
}
