/** When a key ends: `never`, the moment, or that it has ended. */
export function expiryText(expiresAt: string | null, now: number = Date.now()): string {
  if (expiresAt === null) return 'never'
  return Date.parse(expiresAt) <= now ? `expired ${expiresAt}` : expiresAt
}

/** Until when the secret from before a rotation works as well; empty where it does not. */
export function overlapText(previousUntil: string | null, now: number = Date.now()): string {
  return previousUntil === null || Date.parse(previousUntil) <= now ? '' : `works until ${previousUntil}`
}
