import { type CertifiedKey, signLeaf } from '@holt/egress'
import type { Log } from '../../foundation/log.ts'
import { backdatedMs, peerDomain } from './peer-authority.ts'

const hourMs = 60 * 60 * 1000

/** The validity of a host's certificate, in milliseconds. */
const validMs = 24 * hourMs

/** The age at which a certificate is replaced. Two attempts may fail before it expires. */
const renewMs = 8 * hourMs

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

/** Returns the name of a host in its certificate. */
export function peerNameOf(hostId: string): string {
  return `${hostId}.${peerDomain}`
}

/** Signs a certificate of one day for a host, as server and client. */
export async function signHostCertificate(authority: CertifiedKey, hostId: string): Promise<HostCredentials> {
  const names = [peerNameOf(hostId)] as const
  const leaf = await signLeaf(authority, { names, backdatedMs, validMs, isAlsoForClients: true })
  return { ca: authority.certificatePem, cert: leaf.certificatePem, key: leaf.privateKeyPem }
}

/** The certificate of this host. It is replaced each eight hours until `close`. */
export class HostCertificate {
  readonly #sign: () => Promise<HostCredentials>
  readonly #log: Log
  readonly #listeners = new Set<(credentials: HostCredentials) => void>()
  #current: HostCredentials
  #timer: NodeJS.Timeout | null = null

  private constructor(first: HostCredentials, sign: () => Promise<HostCredentials>, log: Log) {
    this.#current = first
    this.#sign = sign
    this.#log = log
  }

  /**
   * Signs the first certificate and keeps it new. `everyMs` is the interval in milliseconds.
   */
  static async keep(
    authority: CertifiedKey,
    { hostId, log, everyMs = renewMs }: { readonly hostId: string; readonly log: Log; readonly everyMs?: number },
  ): Promise<HostCertificate> {
    const sign = () => signHostCertificate(authority, hostId)
    const certificate = new HostCertificate(await sign(), sign, log)
    certificate.#plan(everyMs, everyMs)
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
