import { isKey } from '../contract/keys.ts'
import type { CallOptions, ListedObject } from '../contract/object-store.ts'
import type { S3Client } from './s3-client.ts'
import { tagOf, tagsOf } from './xml.ts'

/**
 * Returns the objects whose keys begin with `prefix`, page by page. Keys of other forms are left
 * out.
 */
export async function* listObjects(
  client: S3Client,
  prefix: string,
  { signal }: CallOptions,
): AsyncGenerator<ListedObject, void> {
  const { prefix: base } = client.location
  for (let token: string | null = null; ; ) {
    const query = {
      'list-type': '2',
      prefix: `${base}${prefix}`,
      ...(token === null ? {} : { 'continuation-token': token }),
    }
    const { text }: { text: string } = await client.call({ method: 'GET', key: null, query, signal })
    for (const content of tagsOf(text, 'Contents')) {
      const key = (tagOf(content, 'Key') ?? '').slice(base.length)
      if (!isKey(key)) continue
      yield {
        key,
        sizeBytes: Number(tagOf(content, 'Size')),
        modifiedAt: new Date(tagOf(content, 'LastModified') ?? 0),
      }
    }
    token = tagOf(text, 'IsTruncated') === 'true' ? tagOf(text, 'NextContinuationToken') : null
    if (token === null) return
  }
}

/** Gives up the uploads in parts that began before a time. */
export async function removeUploads(client: S3Client, before: Date, { signal }: CallOptions): Promise<void> {
  const { prefix: base } = client.location
  for (let from: Record<string, string> | null = {}; from !== null; ) {
    const query = { uploads: '', prefix: base, ...from }
    const { text }: { text: string } = await client.call({ method: 'GET', key: null, query, signal })
    for (const upload of tagsOf(text, 'Upload')) {
      const [key, uploadId] = [(tagOf(upload, 'Key') ?? '').slice(base.length), tagOf(upload, 'UploadId')]
      const begun = Date.parse(tagOf(upload, 'Initiated') ?? '')
      if (!isKey(key) || uploadId === null || !(begun < before.getTime())) continue
      await client.call({ method: 'DELETE', key, query: { uploadId }, signal })
    }
    const [nextKey, nextUpload] = [tagOf(text, 'NextKeyMarker'), tagOf(text, 'NextUploadIdMarker')]
    const isTruncated = tagOf(text, 'IsTruncated') === 'true'
    from = isTruncated && nextKey !== null ? { 'key-marker': nextKey, 'upload-id-marker': nextUpload ?? '' } : null
  }
}
