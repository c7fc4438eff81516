import { ObjectStoreError } from '../contract/object-store-error.ts'
import type { Part } from './gather-parts.ts'
import { bodyHeaders, isKind, isOwnObject, type PutSizes, partBytesHeader, writeIdHeader } from './own-writes.ts'
import { withRetries } from './retries.ts'
import type { S3Client } from './s3-client.ts'
import { tagOf } from './xml.ts'

/** The maximum number of parts of an object in S3. */
const mostParts = 10_000

/** The longest time of the request that gives up an upload. */
const abortTimeoutMs = 10_000

interface Upload {
  readonly key: string
  readonly writeId: string
  readonly ifAbsent: boolean
  readonly signal: AbortSignal | undefined
  readonly sizes: PutSizes
}

interface WrittenPart {
  readonly number: number
  readonly etag: string
  readonly sha256: string
}

/** An upload in parts. The object exists when all parts are there; a failed upload is given up. */
export class MultipartUpload {
  readonly #client: S3Client
  readonly #upload: Upload
  readonly #stop = new AbortController()
  readonly #signal: AbortSignal
  readonly #written: WrittenPart[] = []

  constructor(client: S3Client, upload: Upload) {
    this.#client = client
    this.#upload = upload
    this.#signal = upload.signal === undefined ? this.#stop.signal : AbortSignal.any([this.#stop.signal, upload.signal])
  }

  async run(first: Part, others: AsyncIterable<Part>): Promise<void> {
    const uploadId = await this.#begin()
    try {
      await this.#writeParts(uploadId, first, others)
      await this.#complete(uploadId)
    } catch (error) {
      this.#stop.abort()
      await this.#giveUp(uploadId)
      throw error
    }
  }

  async #begin(): Promise<string> {
    const { key, writeId, sizes, signal } = this.#upload
    const headers = {
      'x-amz-checksum-algorithm': 'SHA256',
      [partBytesHeader]: `${sizes.partBytes}`,
      [writeIdHeader]: writeId,
    }
    const { text } = await this.#client.call({ method: 'POST', key, query: { uploads: '' }, headers, signal })
    const uploadId = tagOf(text, 'UploadId')
    if (uploadId === null) throw new ObjectStoreError('refused', `${key}: the store began no upload in parts`)
    return uploadId
  }

  /** Reads a part only while fewer than `partsAtOnce` are in flight. */
  async #writeParts(uploadId: string, first: Part, others: AsyncIterable<Part>): Promise<void> {
    const inFlight = new Set<Promise<void>>()
    const failures: unknown[] = []
    let number = 0
    const start = async (part: Part) => {
      number += 1
      if (number > mostParts) throw new ObjectStoreError('full', `${this.#upload.key}: more than ${mostParts} parts`)
      const writing = this.#writePart(uploadId, number, part)
        .catch((error: unknown) => void failures.push(error))
        .finally(() => inFlight.delete(writing))
      inFlight.add(writing)
      if (inFlight.size >= this.#upload.sizes.partsAtOnce) await Promise.race(inFlight)
      if (failures.length > 0) throw failures[0]
    }
    try {
      await start(first)
      for await (const part of others) await start(part)
    } catch (error) {
      this.#stop.abort()
      throw error
    } finally {
      await Promise.all(inFlight)
    }
    if (failures.length > 0) throw failures[0]
  }

  async #writePart(uploadId: string, number: number, part: Part): Promise<void> {
    const { headers } = await this.#client.call({
      method: 'PUT',
      key: this.#upload.key,
      query: { partNumber: `${number}`, uploadId },
      headers: bodyHeaders(part),
      body: part.bytes,
      bodySha256: part.sha256.toString('hex'),
      signal: this.#signal,
    })
    if (headers.etag === undefined)
      throw new ObjectStoreError('refused', `${this.#upload.key}: the store gave a part no ETag`)
    this.#written.push({ number, etag: headers.etag, sha256: part.sha256.toString('base64') })
  }

  /** Makes the parts an object. An attempt whose answer was lost may have done it. */
  async #complete(uploadId: string): Promise<void> {
    const { key, writeId, ifAbsent, signal } = this.#upload
    const body = Buffer.from(listOfParts(this.#written))
    const headers = { 'content-type': 'application/xml', ...(ifAbsent ? { 'if-none-match': '*' } : {}) }
    await withRetries(
      async (attempt) => {
        try {
          const { text } = await this.#client.callOnce({
            method: 'POST',
            key,
            query: { uploadId },
            headers,
            body,
            signal,
          })
          // The head is sent before the parts are joined, so a failure comes in the body.
          if (text.includes('<Error>')) throw new ObjectStoreError('unavailable', `${key}: ${tagOf(text, 'Code')}`)
        } catch (error) {
          const mayBeOwn = isKind(error, 'precondition_failed') || isKind(error, 'not_found')
          if (attempt === 1 || !mayBeOwn || !(await isOwnObject(this.#client, { key, writeId, signal })))
            throw isKind(error, 'not_found')
              ? new ObjectStoreError('unavailable', error.message, { cause: error })
              : error
        }
      },
      { policy: this.#client.retries, signal },
    )
  }

  /** Removes the parts. Parts that stay are removed by `removeUnfinished`. */
  async #giveUp(uploadId: string): Promise<void> {
    const signal = AbortSignal.timeout(abortTimeoutMs)
    try {
      await this.#client.callOnce({ method: 'DELETE', key: this.#upload.key, query: { uploadId }, signal })
    } catch {
      // The failure of the upload itself is the one to report.
    }
  }
}

function listOfParts(written: readonly WrittenPart[]): string {
  const parts = written
    .toSorted((one, other) => one.number - other.number)
    .map(
      ({ number, etag, sha256 }) =>
        `<Part><PartNumber>${number}</PartNumber><ETag>${etag.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</ETag>` +
        `<ChecksumSHA256>${sha256}</ChecksumSHA256></Part>`,
    )
  return `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${parts.join('')}</CompleteMultipartUpload>`
}
