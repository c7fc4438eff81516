import { randomUUID } from 'node:crypto'
import type { ObjectBody, PutOptions } from '../contract/object-store.ts'
import { gatherParts, type Part } from './gather-parts.ts'
import { MultipartUpload } from './multipart-upload.ts'
import { bodyHeaders, isKind, isOwnObject, type PutSizes, writeIdHeader } from './own-writes.ts'
import { withRetries } from './retries.ts'
import type { S3Client, S3Request } from './s3-client.ts'

/** Writes an object in one request, or in parts if it is longer than one part. */
export async function putObject(
  client: S3Client,
  { key, body, sizes }: { readonly key: string; readonly body: ObjectBody; readonly sizes: PutSizes },
  { ifAbsent = false, signal }: PutOptions,
): Promise<void> {
  const parts = gatherParts(body instanceof Uint8Array ? [body] : body, sizes.partBytes)
  const writeId = randomUUID()
  try {
    const { value: first } = await parts.next()
    if (first === undefined) throw new Error('a sequence has at least one part')
    if (first.isLast) await putPart(client, { key, part: first, writeId, ifAbsent, signal })
    else await new MultipartUpload(client, { key, writeId, ifAbsent, signal, sizes }).run(first, parts)
  } finally {
    await parts.return()
  }
}

interface SinglePut {
  readonly key: string
  readonly part: Part
  readonly writeId: string
  readonly ifAbsent: boolean
  readonly signal: AbortSignal | undefined
}

async function putPart(client: S3Client, { key, part, writeId, ifAbsent, signal }: SinglePut): Promise<void> {
  const request: S3Request = {
    method: 'PUT',
    key,
    headers: {
      ...bodyHeaders(part),
      [writeIdHeader]: writeId,
      ...(ifAbsent ? { 'if-none-match': '*' } : {}),
    },
    body: part.bytes,
    bodySha256: part.sha256.toString('hex'),
    signal,
  }
  await withRetries(
    async (attempt) => {
      try {
        await client.callOnce(request)
      } catch (error) {
        if (attempt === 1 || !isKind(error, 'precondition_failed')) throw error
        if (!(await isOwnObject(client, { key, writeId, signal }))) throw error
      }
    },
    { policy: client.retries, signal },
  )
}
