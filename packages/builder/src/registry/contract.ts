import type { Duplex } from 'node:stream'
import type { ImageDigest } from '@holt/engine'
import type { BuildSettings } from '../build/contract.ts'

/**
 * Opens the connections of everything that a build pulls itself: registries, token realms, targets
 * of redirects, addresses of ADD. Whoever makes it decides which addresses may be reached, and
 * dials what it checked. What it answers is verified where `tls` asks for that.
 */
export interface RegistryNetwork {
  /** Rejects with a `NetworkError`, or with the signal's reason. */
  connect(target: NetworkTarget, signal: AbortSignal): Promise<Duplex>
}

/** Whom to connect to. */
export interface NetworkTarget {
  /** A name or an address, without brackets. */
  readonly host: string
  readonly port: number
  readonly tls: boolean
  /** The operator named this host: it may have any address. */
  readonly isOperators: boolean
}

/** Why nobody could be reached. */
export type NetworkFailure = 'not_allowed' | 'no_such_host' | 'tls_failed' | 'unreachable'

/** No connection. */
export class NetworkError extends Error {
  override readonly name = 'NetworkError'
  readonly reason: NetworkFailure

  constructor(reason: NetworkFailure, options: { cause?: unknown } = {}) {
    super(reason, options)
    this.reason = reason
  }
}

/** What the operator says of registries. */
export interface RegistrySettings {
  /** Asked in this order before the registry itself. */
  readonly mirrors: readonly RegistryMirror[]
  /**
   * `host:port` or `host:*`: registries that may have any address; plain HTTP is spoken to them.
   */
  readonly insecure: readonly string[]
}

/** Another place that has a registry's images. */
export interface RegistryMirror {
  /** `docker.io`, `ghcr.io`, `registry.example:5000`. */
  readonly registry: string
  /**
   * `https://mirror.example.com`, `http://127.0.0.1:5000/prefix`: the operator's word, so any
   * address and plain HTTP are fine.
   */
  readonly url: string
}

/**
 * What is known of images that were pulled. Keys are pinned references
 * (`docker.io/library/python@sha256:...`) and not digests alone: whoever has shown that a registry
 * gives him an image there has shown nothing about another place that claims the same digest.
 */
export interface PulledImageStore {
  get(pinned: string): Promise<PulledFacts | null>
  put(pinned: string, facts: PulledFacts): Promise<void>
}

/** An image of the engine that was pulled. It may be gone by now. */
export interface PulledFacts {
  readonly imageDigest: ImageDigest
  readonly sizeBytes: number
  readonly settings: BuildSettings
}
