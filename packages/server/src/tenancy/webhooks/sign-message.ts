import { createHmac, randomBytes } from 'node:crypto'

const prefix = 'whsec_'
const secretBytes = 32

/**
 * Returns a new secret: `whsec_` and 256 random bits in base64 (Standard Webhooks 1.0, "Signature
 * scheme").
 */
export function makeWebhookSecret(): string {
  return `${prefix}${randomBytes(secretBytes).toString('base64')}`
}

/**
 * A message. The signature covers its id, the second of its sending, and every byte of its body.
 */
export interface Message {
  readonly id: string
  /** Milliseconds since 1970 UTC. */
  readonly at: number
  readonly body: string
}

/**
 * Returns the headers of a message by Standard Webhooks 1.0: HMAC-SHA256 with each valid secret.
 */
export function signedHeaders({ id, at, body }: Message, secrets: readonly string[]): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(at / 1000))
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(prefix.length), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
  })
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') }
}
