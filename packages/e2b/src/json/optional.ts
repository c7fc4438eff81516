import type { z } from 'zod'

/**
 * Returns the schema of a field that may be absent or null. Some clients send null for a field that
 * they leave out.
 */
export function optional<Schema extends z.ZodType>(schema: Schema) {
  return schema.nullish().transform((value) => value ?? undefined)
}
