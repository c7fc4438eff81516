/**
 * Returns true if `If-None-Match` names a tag (RFC 9110, 13.1.2: any, or one of a list, by weak
 * comparison).
 */
export function isNamed(etag: string, header: string | undefined): boolean {
  const tags = header?.split(',').map((tag) => tag.trim().replace(/^W\//, '')) ?? []
  return tags.includes('*') || tags.includes(etag)
}

/**
 * Returns true if `Accept-Encoding` takes gzip (RFC 9110, 12.5.3). `gzip` decides, and `*` if there
 * is none. A weight of 0 refuses.
 */
export function acceptsGzip(header: string | readonly string[] | undefined): boolean {
  const weights = new Map(
    String(header ?? '')
      .toLowerCase()
      .split(',')
      .map((item) => {
        const [coding = '', ...parameters] = item.split(';').map((part) => part.trim())
        const weight = parameters.find((parameter) => parameter.startsWith('q='))
        return [coding, weight === undefined ? 1 : Number(weight.slice(2))]
      }),
  )
  return (weights.get('gzip') ?? weights.get('*') ?? 0) > 0
}
