import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { join } from 'node:path'
import { readIfThere } from '../../foundation/config/installation.ts'
import { writeDurably } from '../../foundation/config/write-durably.ts'
import type { Log } from '../../foundation/log.ts'

/** The content of a token: its holder, its port and its expiry. */
export interface PortGrant {
  readonly runtimeId: string
  readonly port: number
  readonly generation: number
  /** The key that made the token. The token is valid only as long as the key. */
  readonly keyId: string
  /** The version of the key's secret that made the token. */
  readonly keyVersion: number
  /** The expiry in seconds since 1970 UTC. */
  readonly expiresAtSecs: number
}

/**
 * Returns the secret that signs tokens, from the state directory. A missing one is created, and
 * earlier tokens are invalid then.
 */
export async function openPortSecret(stateDir: string, log: Log): Promise<Buffer> {
  const path = join(stateDir, 'port-secret')
  const existing = await readIfThere(path)
  if (existing !== null && /^[0-9a-f]{64}\n$/.test(existing)) return Buffer.from(existing.trim(), 'hex')
  if (existing !== null) log.warn({}, 'port-secret is damaged and was replaced: earlier links to ports no longer work')
  const secret = randomBytes(32)
  await writeDurably(path, `${secret.toString('hex')}\n`)
  return secret
}

/** Returns a token: its content, and an HMAC-SHA-256 over the content and the port. */
export function makePortToken(secret: Buffer, grant: PortGrant): string {
  const { expiresAtSecs, generation, keyId, keyVersion } = grant
  return `hp2.${expiresAtSecs}.${generation}.${keyId}.${keyVersion}.${seal(secret, grant)}`
}

const form = /^hp2\.([1-9]\d{0,11})\.(0|[1-9]\d{0,8})\.(ky[a-z0-9]{20})\.([1-9]\d{0,8})\.[A-Za-z0-9_-]{43}$/

/**
 * Returns the content of a token, if this service made it for this port. It does not check if the
 * token is still valid.
 */
export function readPortToken(
  secret: Buffer,
  text: string,
  place: Pick<PortGrant, 'runtimeId' | 'port'>,
): PortGrant | null {
  const [, expires, generation, keyId = '', keyVersion] = form.exec(text) ?? []
  if (expires === undefined) return null
  const { runtimeId, port } = place
  const key = { keyId, keyVersion: Number(keyVersion) }
  const grant = { runtimeId, port, generation: Number(generation), ...key, expiresAtSecs: Number(expires) }
  return timingSafeEqual(Buffer.from(makePortToken(secret, grant)), Buffer.from(text)) ? grant : null
}

function seal(secret: Buffer, { runtimeId, port, generation, keyId, keyVersion, expiresAtSecs }: PortGrant): string {
  const said = JSON.stringify(['port', runtimeId, port, generation, keyId, keyVersion, expiresAtSecs])
  return createHmac('sha256', secret).update(said).digest('base64url')
}
