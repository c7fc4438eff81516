import type { IncomingMessage } from 'node:http'
import { ErrorBody, type ErrorCode, errorCatalogue, HoltError } from '@holt/protocol'

/** The statuses from which on the answer of a host may be a refusal. */
const refusedFrom = 500

/** The maximum number of bytes of an error. */
const maxErrorBytes = 64 * 1024

/**
 * Throws the error of the answer of a host, if it could not do a placed request. Another host may.
 * Returns without reading anything of other answers.
 */
export async function throwRefusal(answer: IncomingMessage): Promise<void> {
  if ((answer.statusCode ?? 0) < refusedFrom) return
  const read = ErrorBody.safeParse(await readJson(answer))
  if (!read.success || !(read.data.error.code in errorCatalogue))
    throw new HoltError('unavailable', 'The host that makes the runtime did not say what failed.')
  const { code, message, hint, details } = read.data.error
  throw new HoltError(code as ErrorCode, message, {
    ...(hint === undefined ? {} : { hint }),
    ...(details === undefined ? {} : { details }),
  })
}

/** Returns the JSON of an answer. Undefined: it breaks off, is too long, or is no JSON. */
async function readJson(answer: AsyncIterable<Buffer>): Promise<unknown> {
  const pieces: Buffer[] = []
  let bytes = 0
  try {
    for await (const piece of answer) {
      bytes += piece.length
      if (bytes > maxErrorBytes) return undefined
      pieces.push(piece)
    }
    return JSON.parse(Buffer.concat(pieces).toString())
  } catch {
    return undefined // The client is told that the error is unknown.
  }
}
