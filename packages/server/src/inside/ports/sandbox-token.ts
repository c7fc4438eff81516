import { createHmac } from 'node:crypto'
import { isSameSecret } from '../../foundation/sealing/is-same-secret.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'

/**
 * The use of a token. `envd`: commands and files. `traffic`: the ports of a runtime that are not
 * public.
 */
export const tokenUses = ['envd', 'traffic'] as const
export type TokenUse = (typeof tokenUses)[number]

/** The parts of a runtime that its tokens depend on. */
type Holder = Pick<RuntimeRow, 'runtime_id' | 'token_generation'>

/**
 * Returns a runtime's token: an HMAC-SHA-256 over its use, the runtime and the generation. It stays
 * the same as long as the runtime lives, and nothing is stored for it.
 */
export function sandboxToken(secret: Buffer, use: TokenUse, { runtime_id, token_generation }: Holder): string {
  const said = JSON.stringify(['sandbox', use, runtime_id, token_generation])
  return createHmac('sha256', secret).update(said).digest('hex')
}

/** Returns true if a text is a runtime's token. Compares in constant time. */
export function isSandboxToken(secret: Buffer, use: TokenUse, { holder, text }: { holder: Holder; text: string }) {
  return isSameSecret(sandboxToken(secret, use, holder), text)
}
