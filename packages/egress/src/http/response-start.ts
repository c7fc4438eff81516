/** A server's answer to an offer to switch protocols. */
export type ReadStart = { readonly type: 'switched' } | { readonly type: 'stayed' } | { readonly type: 'incomplete' }

/**
 * Skips interim responses up to the final status (RFC 9110, 15.2). Bytes that are not an HTTP/1
 * response count as no switch.
 */
export function readResponseStart(bytes: Buffer): ReadStart {
  const text = bytes.toString('latin1')
  for (let start = 0; ; ) {
    const end = text.indexOf('\r\n\r\n', start)
    if (end < 0) return { type: 'incomplete' }
    const status = /^HTTP\/1\.1 (\d{3})[ \r]/.exec(text.slice(start, end + 2))?.[1]
    if (status === '101') return { type: 'switched' }
    if (status === undefined || !status.startsWith('1')) return { type: 'stayed' }
    start = end + 4
  }
}
