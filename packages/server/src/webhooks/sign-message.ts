import { createHmac, randomBytes } from 'node:crypto'

const prefix = 'whsec_'
const secretBytes = 32

/**
 * A new secret: `whsec_` and 256 random bits in base64 (Standard Webhooks 1.0, "Signature scheme").
 */
export function makeWebhookSecret(): string {
  return `${prefix}${randomBytes(secretBytes).toString('base64')}`
}

/** A message: what is signed is its id, the second at which it is sent, and every byte of it. */
export interface Message {
  readonly id: string
  /** Milliseconds since 1970 UTC. */
  readonly at: number
  readonly body: string
}

/**
 * The headers of a message by Standard Webhooks 1.0: HMAC-SHA256 with each of the secrets that are
 * good.
 */
export function signedHeaders({ id, at, body }: Message, secrets: readonly string[]): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(at / 1000))
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(prefix.length), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
  })
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') }
}
