import { GatheredBytes, oddShapeOf } from '@holt/async'
import type { z } from 'zod'
import type { BridgeAnswer } from './bridge-answer.ts'
import { bridgeFailed } from './bridge-errors.ts'

/** The maximum number of bytes of an answer that is one JSON value: some hundred contexts. */
const maxAnswerBytes = 1024 * 1024

/** The bounds on the shape of such an answer. */
const shapeBounds = { maxDepth: 16, maxValues: 20_000 }

/** Reads an answer to its end and parses it. Throws if it violates the protocol. */
export async function readBridgeAnswer<Schema extends z.ZodType>(
  answer: BridgeAnswer,
  schema: Schema,
): Promise<z.output<Schema>> {
  try {
    const parsed = schema.safeParse(parseJson(await readBytes(answer)))
    if (!parsed.success) throw bridgeFailed('its answer has another shape')
    answer.letEnd()
    return parsed.data
  } catch (error) {
    answer.destroy()
    throw error
  }
}

async function readBytes(answer: BridgeAnswer): Promise<Buffer> {
  const bytes = new GatheredBytes()
  for await (const chunk of answer.chunks()) {
    if (bytes.length + chunk.length > maxAnswerBytes) throw bridgeFailed(`more than ${maxAnswerBytes} bytes`)
    bytes.add(chunk)
  }
  return bytes.take()
}

function parseJson(bytes: Buffer): unknown {
  if (oddShapeOf(bytes, shapeBounds) !== null) return undefined
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined // Not JSON is not the protocol: the schema refuses it.
  }
}
