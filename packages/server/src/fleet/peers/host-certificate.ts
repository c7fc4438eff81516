import { type CertifiedKey, type LeafOptions, signLeaf, signPublicKey } from '@holt/egress'
import type { HostTrust } from '../../foundation/host/host-trust.ts'
import type { Log } from '../../foundation/log.ts'
import { backdatedMs, peerDomain } from './peer-authority.ts'

const hourMs = 60 * 60 * 1000

/** The validity of a host's certificate, in milliseconds. */
const validMs = 24 * hourMs

/** The age at which a certificate is replaced. Two attempts may fail before it expires. */
export const renewMs = 8 * hourMs

/** The delay after a failed attempt, in milliseconds. */
const retryMs = 60_000

/** The authority that all hosts trust, and a certificate of one host with its key. */
export interface HostCredentials {
  /** The authority's certificate in PEM. */
  readonly ca: string
  /** The host's certificate in PEM. */
  readonly cert: string
  /** The private key of the certificate in PEM. */
  readonly key: string
}

/** Returns the name of a host in its certificate. Default: that of an entry. */
export function peerNameOf(hostId: string, trust: HostTrust = 'entry'): string {
  return trust === 'entry' ? `${hostId}.${peerDomain}` : `${hostId}.${trust}.${peerDomain}`
}

/** Signs a certificate of one day for a host, as server and client. Default: that of an entry. */
export async function signHostCertificate(
  authority: CertifiedKey,
  hostId: string,
  trust: HostTrust = 'entry',
): Promise<HostCredentials> {
  const leaf = await signLeaf(authority, leafOf(hostId, trust))
  return { ca: authority.certificatePem, cert: leaf.certificatePem, key: leaf.privateKeyPem }
}

/**
 * Signs a certificate of one day for the public key of a worker. Returns it in PEM. Throws if the
 * key is not SPKI of ECDSA over P-256.
 */
export function signWorkerCertificate(
  authority: CertifiedKey,
  { hostId, publicKey }: { readonly hostId: string; readonly publicKey: Uint8Array },
): Promise<string> {
  return signPublicKey(authority, publicKey, leafOf(hostId, 'worker'))
}

function leafOf(hostId: string, trust: HostTrust): LeafOptions {
  return { names: [peerNameOf(hostId, trust)], backdatedMs, validMs, isAlsoForClients: true }
}

/** The parts of a certificate that is kept new. */
interface KeptCertificate {
  /** The trust that the certificate gives the host. */
  readonly trust: HostTrust
  /** Makes the next certificate. */
  readonly sign: () => Promise<HostCredentials>
  readonly log: Log
  /** The interval in milliseconds. Default: eight hours. */
  readonly everyMs?: number
  /** The time until the first renewal, in milliseconds. Default: the interval. */
  readonly firstMs?: number
}

/** The certificate of this host. It is replaced each eight hours until `close`. */
export class HostCertificate {
  /** The trust that other hosts have in this one. */
  readonly trust: HostTrust
  readonly #sign: () => Promise<HostCredentials>
  readonly #log: Log
  readonly #listeners = new Set<(credentials: HostCredentials) => void>()
  #current: HostCredentials
  #timer: NodeJS.Timeout | null = null

  private constructor(first: HostCredentials, { trust, sign, log }: KeptCertificate) {
    this.#current = first
    this.trust = trust
    this.#sign = sign
    this.#log = log
  }

  /** Makes the first certificate and keeps it new. */
  static async keep({ everyMs = renewMs, firstMs = everyMs, ...kept }: KeptCertificate): Promise<HostCertificate> {
    const certificate = new HostCertificate(await kept.sign(), kept)
    certificate.#plan(firstMs, everyMs)
    return certificate
  }

  /** The newest certificate. */
  get current(): HostCredentials {
    return this.#current
  }

  /** Calls `listener` with each later certificate. */
  onRenewal(listener: (credentials: HostCredentials) => void): void {
    this.#listeners.add(listener)
  }

  /** Ends the renewal. */
  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#listeners.clear()
  }

  #plan(delayMs: number, everyMs: number): void {
    this.#timer = setTimeout(() => void this.#renew(everyMs), delayMs).unref()
  }

  async #renew(everyMs: number): Promise<void> {
    const next = await this.#sign().catch((err: unknown) => {
      this.#log.error({ err }, 'the certificate of this host could not be renewed')
      return null
    })
    if (this.#timer === null) return
    if (next !== null) {
      this.#current = next
      for (const listener of this.#listeners) listener(next)
    }
    this.#plan(next === null ? Math.min(retryMs, everyMs) : everyMs, everyMs)
  }
}
