/**
 * Header fields that are for one connection only, in small letters: those that RFC 9110, 7.6.1 lists, the older `Keep-Alive` and `Proxy-Connection`,
 * `HTTP2-Settings` (RFC 7540, 3.2.1), and the proxy authentication that ends at the proxy. Each proxy of Holt drops them, whether or not `Connection`
 * names them. `Trailer` is not among them: it announces fields of the message itself.
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
