import { z } from 'zod'

/**
 * Text that every store keeps unchanged. PostgreSQL allows no NUL in text, and UTF-8 no half of a
 * surrogate pair.
 */
export const Text = z
  .string()
  .refine((text) => !text.includes('\0') && text.isWellFormed(), 'must be well-formed text without NUL')

/**
 * The maximum number of bytes of one argument of a program, or of one variable with its name and
 * `=` (execve(2)).
 */
export const maxArgumentBytes = 131_071

/** Returns the length of a text in bytes of UTF-8. */
export function byteLength(text: string): number {
  return new TextEncoder().encode(text).length
}

/** Returns the message for a text that is too long for a program, with the remedy. */
export function tooLongText(bytes: number): string {
  return `must be at most ${maxArgumentBytes} bytes, and has ${bytes}: write it to a file, or use stdin`
}
