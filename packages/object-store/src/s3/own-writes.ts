import { ObjectStoreError } from '../contract/object-store-error.ts'
import type { Part } from './gather-parts.ts'
import type { S3Client } from './s3-client.ts'

export interface PutSizes {
  /** S3 takes 5 MiB at least, except for the last part. */
  readonly partBytes: number
  /** The number of parts in flight. Each is in memory. */
  readonly partsAtOnce: number
}

/** The metadata with which a writer recognizes its own object. */
export const writeIdHeader = 'x-amz-meta-holt-write'

/** The metadata with the size of the parts of an object. */
export const partBytesHeader = 'x-amz-meta-holt-part-bytes'

/** The headers by which a store notices a body that was damaged on the way. */
export function bodyHeaders(part: Part): Readonly<Record<string, string>> {
  return { 'x-amz-checksum-sha256': part.sha256.toString('base64') }
}

/**
 * Returns true if an object is the one of this write. An attempt whose answer was lost may have
 * written it, and the next attempt then finds it there.
 */
export async function isOwnObject(
  client: S3Client,
  {
    key,
    writeId,
    signal,
  }: { readonly key: string; readonly writeId: string; readonly signal: AbortSignal | undefined },
): Promise<boolean> {
  try {
    const { headers } = await client.call({ method: 'HEAD', key, signal })
    return headers[writeIdHeader] === writeId
  } catch (error) {
    if (isKind(error, 'not_found')) return false
    throw error
  }
}

/** Returns true for a failure of that kind. */
export function isKind(error: unknown, kind: ObjectStoreError['kind']): error is ObjectStoreError {
  return error instanceof ObjectStoreError && error.kind === kind
}
