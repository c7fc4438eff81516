import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { listObjectsOf, listUploadsOf } from './list-answers.ts'
import { type S3Bucket, type StoredObject, sha256 } from './s3-bucket.ts'
import type { S3Faults } from './s3-faults.ts'

export interface S3Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | number>>
  readonly body: Buffer
  /** True if the body is the content of an object. */
  readonly isObject: boolean
}

interface Received {
  readonly request: IncomingMessage
  readonly body: Buffer
  readonly bucket: S3Bucket
  readonly bucketName: string
  readonly accessKey: string
  readonly faults: S3Faults
}

interface Parsed {
  readonly key: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  readonly bucket: S3Bucket
  readonly faults: S3Faults
}

/** Answers a request of which the whole body is there. */
export function answerRequest({ request, body, bucket, bucketName, accessKey, faults }: Received): S3Answer {
  const { pathname, searchParams: query } = new URL(request.url ?? '', 'http://s3')
  const [, first, ...rest] = decodeURIComponent(pathname).split('/')
  const { headers, method = '' } = request
  const refused = refusalOf({ headers, body, accessKey, faults })
  if (refused !== null) return refused
  if (first !== bucketName) return failure(404, 'NoSuchBucket')
  const parsed: Parsed = { key: rest.join('/'), query, headers, body, bucket, faults }
  if (parsed.key === '') return success(query.has('uploads') ? listUploadsOf(parsed) : listObjectsOf(parsed))
  if (query.has('uploads') || query.has('uploadId')) return answerUpload(method, parsed)
  return answerObject(method, parsed)
}

interface Claims {
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  readonly accessKey: string
  readonly faults: S3Faults
}

/**
 * Returns the refusal of a request whose credentials, time or checksums are wrong. Signatures are
 * verified by a real S3.
 */
function refusalOf({ headers, body, accessKey, faults }: Claims): S3Answer | null {
  const form = new RegExp(
    `^AWS4-HMAC-SHA256 Credential=${accessKey}/\\d{8}/test-1/s3/aws4_request, SignedHeaders=[a-z0-9;-]+, Signature=[0-9a-f]{64}$`,
  )
  if (!form.test(headers.authorization ?? '')) return failure(403, 'AccessDenied')
  const text = String(headers['x-amz-date']).replace(/^(....)(..)(..)T(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z')
  if (Math.abs(Date.parse(text) - Date.now() - faults.clockAheadMs) > 15 * 60_000)
    return failure(403, 'RequestTimeTooSkewed')
  if (headers['x-amz-content-sha256'] !== createHash('sha256').update(body).digest('hex'))
    return failure(400, 'XAmzContentSHA256Mismatch')
  const checksum = headers['x-amz-checksum-sha256']
  return checksum !== undefined && checksum !== sha256(body) ? failure(400, 'BadDigest') : null
}

function answerObject(method: string, { key, headers, body, bucket }: Parsed): S3Answer {
  const stored = bucket.objects.get(key)
  if (method === 'PUT') {
    if (headers['if-none-match'] === '*' && stored !== undefined) return failure(412, 'PreconditionFailed')
    return success('', { etag: bucket.put(key, body, metadataOf(headers)).etag })
  }
  if (method === 'DELETE') {
    bucket.objects.delete(key)
    return { ...success(''), status: 204 }
  }
  if (stored === undefined) return failure(404, 'NoSuchKey')
  if (method === 'HEAD') return { ...success('', factsOf(stored)), body: Buffer.alloc(0) }
  return readObject(stored, headers)
}

function readObject(stored: StoredObject, headers: IncomingHttpHeaders): S3Answer {
  const { bytes, etag, checksum } = stored
  if (headers['if-match'] !== undefined && headers['if-match'] !== etag) return failure(412, 'PreconditionFailed')
  const facts = {
    ...factsOf(stored),
    ...(headers['x-amz-checksum-mode'] === 'ENABLED' ? { 'x-amz-checksum-sha256': checksum } : {}),
  }
  const [, start, end] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '') ?? []
  if (start === undefined) return { status: 200, headers: facts, body: bytes, isObject: true }
  if (Number(start) >= bytes.length) return failure(416, 'InvalidRange')
  const part = bytes.subarray(Number(start), Number(end) + 1)
  const range = `bytes ${start}-${Number(start) + part.length - 1}/${bytes.length}`
  const head = { ...facts, 'content-length': part.length, 'content-range': range }
  return { status: 206, headers: head, body: part, isObject: true }
}

function answerUpload(method: string, { key, query, headers, body, bucket }: Parsed): S3Answer {
  if (query.has('uploads')) {
    const id = bucket.begin(key, metadataOf(headers))
    return success(`<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`)
  }
  const id = query.get('uploadId') ?? ''
  const upload = bucket.uploads.get(id)
  if (upload === undefined || upload.key !== key) return failure(404, 'NoSuchUpload')
  if (method === 'PUT') {
    upload.parts.set(Number(query.get('partNumber')), body)
    return success('', { etag: `"${createHash('md5').update(body).digest('hex')}"` })
  }
  if (method === 'DELETE') {
    bucket.uploads.delete(id)
    return { ...success(''), status: 204 }
  }
  if (headers['if-none-match'] === '*' && bucket.objects.has(key)) return failure(412, 'PreconditionFailed')
  const { etag } = bucket.complete(id, upload)
  return success(`<CompleteMultipartUploadResult><ETag>${etag}</ETag></CompleteMultipartUploadResult>`)
}

function factsOf({ bytes, etag, metadata, modifiedMs }: StoredObject): Record<string, string | number> {
  return { 'content-length': bytes.length, etag, 'last-modified': new Date(modifiedMs).toUTCString(), ...metadata }
}

function metadataOf(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (name.startsWith('x-amz-meta-') ? [[name, String(value)]] : [])),
  )
}

function success(xml: string, headers: S3Answer['headers'] = {}): S3Answer {
  return { status: 200, headers, body: Buffer.from(xml), isObject: false }
}

function failure(status: number, code: string): S3Answer {
  const body = Buffer.from(`<Error><Code>${code}</Code><Message>refused by the small S3</Message></Error>`)
  return { status, headers: {}, body, isObject: false }
}
