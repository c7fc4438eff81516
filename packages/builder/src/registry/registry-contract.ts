import type { Duplex } from 'node:stream'
import type { ImageDigest } from '@holt/engine'
import type { BuildSettings } from '../contract/build-contract.ts'

/**
 * Opens the connections of all pulls and fetches of a build: registries, token realms, targets of
 * redirects, addresses of ADD. The implementation decides on the addresses that may be reached, and
 * dials the address that it checked. With `tls` it verifies the server.
 */
export interface RegistryNetwork {
  /** Opens a connection. Rejects with a `NetworkError`, or with the signal's reason. */
  connect(target: NetworkTarget, signal: AbortSignal): Promise<Duplex>
}

/** The server to connect to. */
export interface NetworkTarget {
  /** A name or an address, without brackets. */
  readonly host: string
  readonly port: number
  readonly tls: boolean
  /** True if the operator named this host, which may then have any address. */
  readonly isOperators: boolean
}

/** The reason why there is no connection. */
export type NetworkFailure = 'not_allowed' | 'no_such_host' | 'tls_failed' | 'unreachable'

/** The error for a connection that could not be opened. */
export class NetworkError extends Error {
  override readonly name = 'NetworkError'
  readonly reason: NetworkFailure

  constructor(reason: NetworkFailure, options: { cause?: unknown } = {}) {
    super(reason, options)
    this.reason = reason
  }
}

/** The operator's settings for registries. */
export interface RegistrySettings {
  /** The mirrors, which are asked in this order before the registry itself. */
  readonly mirrors: readonly RegistryMirror[]
  /**
   * `host:port` or `host:*` of registries that may have any address. Plain HTTP is used for them.
   */
  readonly insecure: readonly string[]
}

/** Another server that has a registry's images. */
export interface RegistryMirror {
  /** The registry: `docker.io`, `ghcr.io`, `registry.example:5000`. */
  readonly registry: string
  /**
   * The address: `https://mirror.example.com`, `http://127.0.0.1:5000/prefix`. The operator has
   * chosen it, so any address and plain HTTP are allowed.
   */
  readonly url: string
}

/**
 * The facts about pulled images. Keys are pinned references
 * (`docker.io/library/python@sha256:...`), not digests alone. A client with access to an image in
 * one registry has not proved access to another registry that claims the same digest.
 */
export interface PulledImageStore {
  get(pinned: string): Promise<PulledFacts | null>
  put(pinned: string, facts: PulledFacts): Promise<void>
}

/** A pulled image of the engine. It may be deleted by now. */
export interface PulledFacts {
  readonly imageDigest: ImageDigest
  readonly sizeBytes: number
  readonly settings: BuildSettings
}
