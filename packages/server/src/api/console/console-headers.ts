/** The parts of a host that can stand in a policy: a name or an IPv4 address, and a port. */
const plainHost = /^[a-z0-9.-]{1,253}(?::\d{1,5})?$/i

/**
 * Returns the header that tells a page who has opened it, which its scripts cannot find out. A link
 * that a page of another site opens must not sign anybody in. Each answer has the header, because a
 * browser that keeps a page takes the later one. `site` is the header `Sec-Fetch-Site`.
 */
export function openedHeader(site: string | undefined): Readonly<Record<string, string>> {
  return { 'server-timing': `opened;desc="${site === 'none' ? 'by-person' : 'unknown'}"` }
}

/**
 * Returns the headers of the console's pages. Scripts and styles come from the console's own files
 * only: other paths of this origin have what runtimes say. `host` is the Host header of the
 * request. A host that cannot stand in a policy, such as an IPv6 address, means the whole origin.
 * Frames are for HTML that code has made. A blob inherits the policy, and its frame is sandboxed.
 */
export function consoleHeaders(host: string): Readonly<Record<string, string>> {
  const files = plainHost.test(host) ? `${host}/console/assets/` : "'self'"
  const policy = [
    "default-src 'none'",
    `script-src ${files}`,
    `style-src ${files}`,
    `font-src ${files}`,
    `img-src ${files} blob: data:`,
    "connect-src 'self'",
    'frame-src blob:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ]
  return {
    'content-security-policy': policy.join('; '),
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  }
}
