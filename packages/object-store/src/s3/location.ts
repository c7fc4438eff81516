import { isKey } from '../contract/keys.ts'
import { ObjectStoreError } from '../contract/object-store-error.ts'

/** The place of the objects of a store in S3. */
export interface S3Location {
  /** The origin of the service. Buckets are addressed by path, as every S3 accepts. */
  readonly endpoint: string
  readonly bucket: string
  /** Empty, or a path with a final slash. */
  readonly prefix: string
  readonly region: string
}

const known = new Set(['endpoint', 'region'])

/**
 * Reads `s3://BUCKET[/PREFIX]?endpoint=…&region=…`. Throws an error of kind `invalid` for other
 * addresses.
 */
export function parseS3Url(url: string, env: Readonly<Record<string, string | undefined>>): S3Location {
  const { hostname: bucket, pathname, searchParams, username, password, port, hash } = new URL(url)
  if (username !== '' || password !== '')
    throw invalid('credentials do not belong into the address: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY')
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket) || port !== '' || hash !== '')
    throw invalid('name a bucket: s3://BUCKET')
  const unknown = [...searchParams.keys()].find((name) => !known.has(name))
  if (unknown !== undefined) throw invalid(`unknown parameter ${JSON.stringify(unknown)}: use endpoint and region`)
  const prefix = pathname.replace(/^\/|\/$/g, '')
  if (prefix !== '' && !isKey(prefix)) throw invalid('the prefix has letters, digits and ._- between single slashes')
  const region = searchParams.get('region') ?? env.AWS_REGION ?? env.AWS_DEFAULT_REGION ?? 'us-east-1'
  if (!/^[A-Za-z0-9-]{1,64}$/.test(region)) throw invalid('the region has letters, digits and hyphens')
  return {
    endpoint: endpointOf(searchParams.get('endpoint') ?? env.AWS_ENDPOINT_URL_S3, region),
    bucket,
    prefix: prefix === '' ? '' : `${prefix}/`,
    region,
  }
}

function endpointOf(given: string | undefined | null, region: string): string {
  if (given === undefined || given === null || given === '') return `https://s3.${region}.amazonaws.com`
  const url = URL.canParse(given) ? new URL(given) : null
  if (
    url === null ||
    !/^https?:$/.test(url.protocol) ||
    url.pathname !== '/' ||
    url.search !== '' ||
    url.username !== ''
  )
    throw invalid('the endpoint is an address without a path, such as https://s3.example.net')
  return url.origin
}

function invalid(why: string): ObjectStoreError {
  return new ObjectStoreError('invalid', why)
}
