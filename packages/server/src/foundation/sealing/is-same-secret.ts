import { timingSafeEqual } from 'node:crypto'

/** Returns true if two texts are equal. The time depends on their lengths only. */
export function isSameSecret(one: string, other: string): boolean {
  const [given, known] = [Buffer.from(one), Buffer.from(other)]
  return given.length === known.length && timingSafeEqual(given, known)
}
