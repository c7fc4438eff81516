import { z } from 'zod'

/** Text that every store keeps as it is: PostgreSQL has no NUL in text, and UTF-8 no half of a surrogate pair. */
export const Text = z
  .string()
  .refine((text) => !text.includes('\0') && text.isWellFormed(), 'must be well-formed text without NUL')
