import type { S3Bucket } from './s3-bucket.ts'
import type { S3Faults } from './s3-faults.ts'

/** Small, so that tests of few objects have several pages. */
const pageSize = 10

interface Listing {
  readonly query: URLSearchParams
  readonly bucket: S3Bucket
  readonly faults: S3Faults
}

/** Returns a page of objects as ListObjectsV2 does. */
export function listObjectsOf({ query, bucket, faults }: Listing): string {
  const prefix = query.get('prefix') ?? ''
  const after = Buffer.from(query.get('continuation-token') ?? '', 'base64').toString()
  const newest = Date.now() - faults.listsAfterMs
  const all = [...bucket.objects]
    .filter(([key, { modifiedMs }]) => key.startsWith(prefix) && key > after && modifiedMs <= newest)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
  const page = all.slice(0, pageSize)
  const contents = page.map(
    ([key, { bytes, modifiedMs }]) =>
      `<Contents><Key>${key.replaceAll('&', '&amp;')}</Key><LastModified>${new Date(modifiedMs).toISOString()}</LastModified><Size>${bytes.length}</Size></Contents>`,
  )
  const next = Buffer.from(page.at(-1)?.[0] ?? '').toString('base64')
  const isTruncated = all.length > page.length
  return `<ListBucketResult><IsTruncated>${isTruncated}</IsTruncated>${contents.join('')}${isTruncated ? `<NextContinuationToken>${next}</NextContinuationToken>` : ''}</ListBucketResult>`
}

/** Returns the unfinished uploads as ListMultipartUploads does. */
export function listUploadsOf({ query, bucket }: Listing): string {
  const prefix = query.get('prefix') ?? ''
  const uploads = [...bucket.uploads]
    .filter(([, { key }]) => key.startsWith(prefix))
    .map(
      ([id, { key, begunMs }]) =>
        `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${new Date(begunMs).toISOString()}</Initiated></Upload>`,
    )
  return `<ListMultipartUploadsResult><IsTruncated>false</IsTruncated>${uploads.join('')}</ListMultipartUploadsResult>`
}
