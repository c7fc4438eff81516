import { parseReference } from '../image/reference.ts'
import type { RegistrySettings } from './contract.ts'

/** Where an image is, under the one name that it has here. */
export interface ImagePlace {
  /** `docker.io`, `ghcr.io`, `registry.example:5000`. */
  readonly registry: string
  /** `library/python`. */
  readonly repository: string
  /** A tag or a digest: what the registry is asked for. */
  readonly wanted: string
  /** The digest that it is fixed to. */
  readonly digest: string | null
}

/** One server that may have a repository. */
export interface Endpoint {
  readonly origin: string
  /** Of the repository there, with the mirror's prefix. */
  readonly repository: string
  /** The operator named this server: it may have any address. */
  readonly isOperators: boolean
  /** Its word on what exists is not the last one, and it is shown nobody's credentials. */
  readonly isMirror: boolean
}

/** The registry of names without one has many names itself. */
const hub = 'docker.io'
const hubNames: ReadonlySet<string> = new Set([
  hub,
  'index.docker.io',
  'registry-1.docker.io',
  'registry.hub.docker.com',
])
const hubHost = 'registry-1.docker.io'

/**
 * Reads a reference as container engines do: no registry is Docker Hub, there no namespace is
 * `library`, and no tag is `latest`.
 */
export function placeOf(text: string): ImagePlace {
  const reference = parseReference(text)
  const registry = canonicalRegistry(reference.registry ?? hub)
  const path = reference.registry === null ? reference.name : reference.name.slice(reference.registry.length + 1)
  const repository = registry === hub && !path.includes('/') ? `library/${path}` : path
  return { registry, repository, wanted: reference.digest ?? reference.tag ?? 'latest', digest: reference.digest }
}

/** The one name of a registry, as a reference or a login may write it. */
export function canonicalRegistry(text: string): string {
  const bare = text
    .toLowerCase()
    .replace(/^https?:\/\//, '')
    .replace(/\/(?:v[12]\/?)?$/, '')
  return hubNames.has(bare) ? hub : bare
}

/** `docker.io/library/python@sha256:...`. */
export function pinnedName({ registry, repository }: ImagePlace, digest: string): string {
  return `${registry}/${repository}@${digest}`
}

/** The servers to ask, in order: the operator's mirrors, then the registry itself. */
export function endpointsOf({ registry, repository }: ImagePlace, settings: RegistrySettings): readonly Endpoint[] {
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

/**
 * Whether the operator listed an authority, `host` or `host:port`, as one to speak plain HTTP to.
 */
export function isListed(authority: string, insecure: readonly string[]): boolean {
  const [, host, port = '80'] = /^(\[[^\]]*\]|[^:]*)(?::(\d+))?$/.exec(authority.toLowerCase()) ?? []
  return host !== undefined && insecure.some((entry) => entry === `${host}:${port}` || entry === `${host}:*`)
}
