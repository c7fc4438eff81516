import { parseReference } from '../image/reference.ts'
import type { RegistrySettings } from './registry-contract.ts'

/** The address of an image, with the canonical name of its registry. */
export interface ImageAddress {
  /** The registry: `docker.io`, `ghcr.io`, `registry.example:5000`. */
  readonly registry: string
  /** The repository: `library/python`. */
  readonly repository: string
  /** The tag or digest to request from the registry. */
  readonly wanted: string
  /** The digest of the reference, or null. */
  readonly digest: string | null
}

/** One server that may have a repository. */
export interface Endpoint {
  readonly origin: string
  /** The name of the repository there, with the mirror's prefix. */
  readonly repository: string
  /** True if the operator named this server, which may then have any address. */
  readonly isOperators: boolean
  /** True for a mirror. Its answer on missing images is not final, and it gets no credentials. */
  readonly isMirror: boolean
}

/** The registry of names without one. It has several names. */
const hub = 'docker.io'
const hubNames: ReadonlySet<string> = new Set([
  hub,
  'index.docker.io',
  'registry-1.docker.io',
  'registry.hub.docker.com',
])
const hubHost = 'registry-1.docker.io'

/**
 * Parses a reference as container engines do. The default registry is Docker Hub, its default
 * namespace is `library`, and the default tag is `latest`.
 */
export function imageAddressOf(text: string): ImageAddress {
  const reference = parseReference(text)
  const registry = canonicalRegistry(reference.registry ?? hub)
  const path = reference.registry === null ? reference.name : reference.name.slice(reference.registry.length + 1)
  const repository = registry === hub && !path.includes('/') ? `library/${path}` : path
  return { registry, repository, wanted: reference.digest ?? reference.tag ?? 'latest', digest: reference.digest }
}

/** Returns the canonical name of a registry, from its name in a reference or a login. */
export function canonicalRegistry(text: string): string {
  const bare = text
    .toLowerCase()
    .replace(/^https?:\/\//, '')
    .replace(/\/(?:v[12]\/?)?$/, '')
  return hubNames.has(bare) ? hub : bare
}

/** Returns the pinned name: `docker.io/library/python@sha256:...`. */
export function pinnedName({ registry, repository }: ImageAddress, digest: string): string {
  return `${registry}/${repository}@${digest}`
}

/** Returns the servers to ask, in order: the operator's mirrors, then the registry itself. */
export function endpointsOf({ registry, repository }: ImageAddress, settings: RegistrySettings): readonly Endpoint[] {
  const mirrors = settings.mirrors
    .filter((mirror) => canonicalRegistry(mirror.registry) === registry)
    .map(({ url }) => {
      const { origin, pathname } = new URL(url)
      const prefix = pathname.replaceAll(/^\/+|\/+$/g, '')
      return {
        origin,
        repository: prefix === '' ? repository : `${prefix}/${repository}`,
        isOperators: true,
        isMirror: true,
      }
    })
  const isInsecure = isListed(registry, settings.insecure)
  const origin = new URL(`${isInsecure ? 'http' : 'https'}://${registry === hub ? hubHost : registry}`).origin
  return [...mirrors, { origin, repository, isOperators: isInsecure, isMirror: false }]
}

/** Returns true if the operator listed an authority, `host` or `host:port`, for plain HTTP. */
export function isListed(authority: string, insecure: readonly string[]): boolean {
  const [, host, port = '80'] = /^(\[[^\]]*\]|[^:]*)(?::(\d+))?$/.exec(authority.toLowerCase()) ?? []
  return host !== undefined && insecure.some((entry) => entry === `${host}:${port}` || entry === `${host}:*`)
}
