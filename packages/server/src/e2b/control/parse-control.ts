import type { IncomingMessage } from 'node:http'
import type { z } from 'zod'
import { type KeptFor, readJson } from '../../api/http/read-json.ts'
import { invalidRequest } from '../../foundation/wire/field-issues.ts'
import { requestParsing } from '../../foundation/wire/issue-words.ts'

/** Parses a value by a schema. Throws an error that names every wrong field. */
export function parseWith(schema: z.ZodType, value: unknown, prefix: '' | '/query' = ''): unknown {
  const parsed = schema.safeParse(value, requestParsing)
  if (parsed.success) return parsed.data
  throw invalidRequest([{ error: parsed.error as z.ZodError, prefix }])
}

/**
 * Reads and parses the body of a request. An absent one counts as an empty object, also with a
 * `Content-Type`, which old clients send with every request.
 */
export async function parseBody(request: IncomingMessage, kept: KeptFor, schema: z.ZodType): Promise<unknown> {
  const { headers } = request
  const hasBody = headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
  return hasBody ? readJson(request, kept, (value) => parseWith(schema, value)) : parseWith(schema, {})
}
