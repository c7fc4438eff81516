/** The place of a remote repository that is reached over HTTP. */
export interface RemoteAddress {
  readonly host: string
  readonly port: number
  readonly isSecure: boolean
  /** True if the address contains a password. */
  readonly hasPassword: boolean
}

/** Returns the place of a repository; null for one that is not reached over HTTP. */
export function remoteAddress(url: string): RemoteAddress | null {
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) return null
  const { hostname, port, protocol, password } = new URL(url)
  const isSecure = protocol === 'https:'
  return {
    host: hostname,
    port: port === '' ? (isSecure ? 443 : 80) : Number(port),
    isSecure,
    hasPassword: password !== '',
  }
}

/**
 * Returns the directory that git makes for a repository: the last part of its address without
 * `.git` (git-clone(1)). Returns null if the address has no such part.
 */
export function directoryOf(url: string): string | null {
  const path = remoteAddress(url) === null ? url : new URL(url).pathname
  const name = path
    .replace(/\/+$/, '')
    .replace(/\/\.git$/, '')
    .replace(/^.*[/:]/s, '')
    .replace(/\.git$/, '')
  return ['', '.', '..'].includes(name) ? null : decode(name)
}

function decode(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    // A percent sign that encodes nothing stands for itself.
    return name
  }
}
