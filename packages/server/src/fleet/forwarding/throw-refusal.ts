import type { IncomingMessage } from 'node:http'
import { ErrorBody, type ErrorCode, errorCatalogue, HoltError } from '@holt/protocol'
import { readPeerJson } from '../peers/peer-routes.ts'

/** The statuses from which on the answer of a host may be a refusal. */
const refusedFrom = 500

/**
 * Throws the error of the answer of a host, if it could not do a placed request. Another host may.
 * Returns without reading anything of other answers.
 */
export async function throwRefusal(answer: IncomingMessage): Promise<void> {
  if ((answer.statusCode ?? 0) < refusedFrom) return
  const read = ErrorBody.safeParse((await readPeerJson(answer))?.value)
  if (!read.success || !(read.data.error.code in errorCatalogue))
    throw new HoltError('unavailable', 'The host that makes the runtime did not say what failed.')
  const { code, message, hint, details } = read.data.error
  throw new HoltError(code as ErrorCode, message, {
    ...(hint === undefined ? {} : { hint }),
    ...(details === undefined ? {} : { details }),
  })
}
