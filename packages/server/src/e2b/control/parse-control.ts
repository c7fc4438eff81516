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
 * Reads and parses the body of a request, and returns it as it was sent, too. An absent one counts
 * as an empty object, also with a `Content-Type`, which old clients send with every request.
 */
export async function parseBody(
  request: IncomingMessage,
  kept: KeptFor,
  schema: z.ZodType,
): Promise<{ readonly json: unknown; readonly body: unknown }> {
  const { headers } = request
  const parse = (json: unknown) => ({ json, body: parseWith(schema, json) })
  const hasBody = headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
  return hasBody ? readJson(request, kept, parse) : parse({})
}
