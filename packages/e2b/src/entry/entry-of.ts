import { isControlPath } from '../routes/control-routes.ts'

/** The port of a sandbox that stands for commands and files. No program inside gets it. */
export const envdPort = 49_983

/** The headers that name a sandbox at an address that all sandboxes share, in lower case. */
export const sandboxHeaders = { id: 'e2b-sandbox-id', port: 'e2b-sandbox-port' } as const

/** The facts of a request that decide which part of the service answers it. */
export interface EntryFacts {
  /** The canonical host: lower case, without port and final dot. Empty if there is none. */
  readonly host: string
  /** Path and query. */
  readonly target: string
  /** The value of `E2b-Sandbox-Id`. */
  readonly sandboxId: string | undefined
  /** The value of `E2b-Sandbox-Port`. */
  readonly sandboxPort: string | undefined
}

/** The names of the service. */
export interface EntryNames {
  /** The domain of domain mode. Null if there is none. */
  readonly domain: string | null
  /** The domain below which Holt's own port addresses are. */
  readonly portDomain: string
  /** Further names at which clients reach the service. Addresses and `localhost` are known. */
  readonly own: ReadonlySet<string>
}

/** The part of the service that answers a request. */
export type Entry =
  /** Holt itself, as if this entry did not exist. */
  | { readonly type: 'holt' }
  | { readonly type: 'control' }
  /** A port of a sandbox. `envdPort` stands for commands and files. */
  | { readonly type: 'sandbox'; readonly sandboxId: string; readonly port: number; readonly by: 'host' | 'headers' }
  /** `/files` with a signature, and without the name of a sandbox. */
  | { readonly type: 'signed' }
  /** The shared address of sandboxes, without a whole and valid pair of headers. */
  | { readonly type: 'incomplete' }
  /** A name below the domain that stands for nothing. */
  | { readonly type: 'unknown' }

const holt: Entry = { type: 'holt' }

/**
 * Returns the part of the service that answers a request. It is decided once, by the canonical host
 * first. A name of a sandbox ignores the headers, so that no page of a sandbox reaches another one.
 */
export function entryOf(facts: EntryFacts, names: EntryNames): Entry {
  const { host } = facts
  const { domain, portDomain } = names
  if (domain !== null && host.endsWith(`.${domain}`)) {
    const isHolts = portDomain.endsWith(`.${domain}`) && (host === portDomain || host.endsWith(`.${portDomain}`))
    return isHolts ? holt : belowDomain(host.slice(0, -domain.length - 1), facts)
  }
  return host === domain || isAddress(host) || names.own.has(host) ? atSharedAddress(facts, domain) : holt
}

function belowDomain(name: string, facts: EntryFacts): Entry {
  if (name === 'api') return { type: 'control' }
  if (name === 'sandbox') return byHeaders(facts)
  const [, portText = '', sandboxId = ''] = /^(\d{1,5})-([a-z0-9]+)(?:-[a-z0-9-]*)?$/.exec(name) ?? []
  const port = parsePort(portText)
  return port === null ? { type: 'unknown' } : { type: 'sandbox', sandboxId, port, by: 'host' }
}

/** Decides at an address that the control plane, all sandboxes and Holt share. */
function atSharedAddress(facts: EntryFacts, domain: string | null): Entry {
  if (facts.sandboxId !== undefined) return byHeaders(facts)
  const [path = '', query = ''] = splitTarget(facts.target)
  if (path === '/files' && domain === null && new URLSearchParams(query).has('signature')) return { type: 'signed' }
  return isControlPath(path) ? { type: 'control' } : holt
}

function byHeaders({ sandboxId = '', sandboxPort = '' }: EntryFacts): Entry {
  const port = parsePort(sandboxPort)
  // A header that was sent twice arrives as a list, which is no id.
  if (port === null || !/^[A-Za-z0-9_]{1,100}$/.test(sandboxId)) return { type: 'incomplete' }
  return { type: 'sandbox', sandboxId, port, by: 'headers' }
}

function parsePort(text: string): number | null {
  return /^[1-9]\d{0,4}$/.test(text) && Number(text) <= 65_535 ? Number(text) : null
}

/** Splits path and query. A query may have further question marks. */
export function splitTarget(target: string): readonly [path: string, query: string] {
  const at = target.indexOf('?')
  return at === -1 ? [target, ''] : [target.slice(0, at), target.slice(at + 1)]
}

/** Returns true for `localhost` and for IP literals, which no web page can choose as its name. */
function isAddress(host: string): boolean {
  return host === 'localhost' || /^\[[0-9a-f:.]+\]$/.test(host) || /^\d{1,3}(?:\.\d{1,3}){3}$/.test(host)
}
