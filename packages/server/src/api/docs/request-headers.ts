/**
 * Returns true if `If-None-Match` names a tag (RFC 9110, 13.1.2: any, or one of a list, by weak
 * comparison).
 */
export function isNamed(etag: string, header: string | undefined): boolean {
  const tags = header?.split(',').map((tag) => tag.trim().replace(/^W\//, '')) ?? []
  return tags.includes('*') || tags.includes(etag)
}

/**
 * Returns true if `Accept-Encoding` takes a coding (RFC 9110, 12.5.3). The coding decides, and `*`
 * if it is not named. A weight of 0 refuses.
 */
export function acceptsCoding(coding: string, header: string | readonly string[] | undefined): boolean {
  const weights = new Map(
    String(header ?? '')
      .toLowerCase()
      .split(',')
      .map((item) => {
        const [name = '', ...parameters] = item.split(';').map((part) => part.trim())
        const weight = parameters.find((parameter) => parameter.startsWith('q='))
        return [name, weight === undefined ? 1 : Number(weight.slice(2))]
      }),
  )
  return (weights.get(coding) ?? weights.get('*') ?? 0) > 0
}
