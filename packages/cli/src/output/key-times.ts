/** Returns the end of a key as text: `never`, the moment, or that it has expired. */
export function expiryText(expiresAt: string | null, now: number = Date.now()): string {
  if (expiresAt === null) return 'never'
  return Date.parse(expiresAt) <= now ? `expired ${expiresAt}` : expiresAt
}

/**
 * Returns the moment until which the secret from before a rotation works; empty if it does not
 * work.
 */
export function overlapText(previousUntil: string | null, now: number = Date.now()): string {
  return previousUntil === null || Date.parse(previousUntil) <= now ? '' : `works until ${previousUntil}`
}
