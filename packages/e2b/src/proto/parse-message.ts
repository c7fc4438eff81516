import { oddShapeOf } from '@holt/async'
import type { z } from 'zod'
import { ConnectError } from '../errors/connect-error.ts'

/** The bounds on a message's shape. A parser takes about fifty bytes for each bracket. */
const bounds = { maxDepth: 32, maxValues: 40_000 }

const decoder = new TextDecoder('utf-8', { fatal: true })

/**
 * Parses a message of JSON in UTF-8. No bytes are a message without fields. Throws
 * `invalid_argument`, which names the wrong field and not its value.
 */
export function parseMessage<Schema extends z.ZodType>(json: Buffer, schema: Schema): z.output<Schema> {
  const odd = oddShapeOf(json, bounds)
  if (odd !== null) throw new ConnectError('invalid_argument', `The message must not ${odd}.`)
  const parsed = schema.safeParse(json.length === 0 ? {} : parsedJson(json))
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  const field = issue === undefined || issue.path.length === 0 ? 'the message' : `the field ${issue.path.join('.')}`
  throw new ConnectError('invalid_argument', `${field}: ${issue?.message ?? 'is invalid'}`)
}

function parsedJson(json: Buffer): unknown {
  try {
    return JSON.parse(decoder.decode(json))
  } catch {
    throw new ConnectError('invalid_argument', 'The message must be JSON in UTF-8.')
  }
}
