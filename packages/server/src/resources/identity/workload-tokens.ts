import type { ProviderSettings } from '@holt/protocol'
import { randomText } from '@holt/protocol'
import { SignJWT } from 'jose'
import type { Resources } from '../resources.ts'

type Workload = Extract<ProviderSettings, { type: 'workload' }>

/**
 * The share of a token's life below which a new one is made, so that a sent token stays valid for a
 * while.
 */
const freshPart = 0.5

/** The maximum number of cached tokens. Beyond that the oldest is removed. */
const maxKept = 10_000

/** The runtime that a token identifies. */
export interface Subject {
  readonly projectId: string
  readonly runtimeId: string
}

/** Signs short-lived tokens that state the runtime of a request (RFC 7519). */
export class WorkloadTokens {
  readonly #parts: Pick<Resources, 'signingKeys' | 'issuer' | 'now'>
  readonly #kept = new Map<string, { readonly token: string; readonly freshUntil: number }>()

  constructor(parts: Pick<Resources, 'signingKeys' | 'issuer' | 'now'>) {
    this.#parts = parts
  }

  /** Returns a token of a runtime for a provider's audience. */
  async token(
    provider: { readonly providerId: string; readonly version: number; readonly settings: Workload },
    subject: Subject,
  ): Promise<string> {
    const now = this.#parts.now()
    const name = `${provider.providerId} ${provider.version} ${subject.runtimeId}`
    const kept = this.#kept.get(name)
    if (kept !== undefined && kept.freshUntil > now) return kept.token
    const token = await this.#sign(provider.settings, subject, now)
    if (this.#kept.size >= maxKept) this.#kept.delete(this.#kept.keys().next().value ?? '')
    this.#kept.delete(name)
    this.#kept.set(name, { token, freshUntil: now + provider.settings.ttl_secs * 1000 * freshPart })
    return token
  }

  async #sign(
    { audience, ttl_secs, algorithm }: Workload,
    { projectId, runtimeId }: Subject,
    now: number,
  ): Promise<string> {
    const issuer = this.#parts.issuer()
    if (issuer === '') throw new Error('the service does not listen yet, so it has no issuer name to sign with')
    const { key, kid } = await this.#parts.signingKeys.current(algorithm)
    const at = Math.floor(now / 1000)
    return new SignJWT({ project_id: projectId, runtime_id: runtimeId })
      .setProtectedHeader({ alg: algorithm, kid, typ: 'JWT' })
      .setIssuer(issuer)
      .setSubject(`project/${projectId}/runtime/${runtimeId}`)
      .setAudience(audience)
      .setIssuedAt(at)
      .setNotBefore(at)
      .setExpirationTime(at + ttl_secs)
      .setJti(randomText(24))
      .sign(key)
  }
}
