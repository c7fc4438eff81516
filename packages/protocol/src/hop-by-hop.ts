/**
 * The header fields that concern one connection only, in lower case. They are those of RFC 9110,
 * 7.6.1, the older `Keep-Alive` and `Proxy-Connection`, `HTTP2-Settings` (RFC 7540, 3.2.1), and the
 * authentication at a proxy. Each proxy of Holt drops them, even if `Connection` does not name
 * them. `Trailer` is not in the list: it announces fields of the message itself.
 */
export const hopByHopHeaders = [
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
] as const
