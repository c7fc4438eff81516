import { WholeBytes } from '@holt/async'
import type { Answer } from './exchange.ts'
import { readRetryAfter } from './retry-policy.ts'
import { TransferError } from './transfer-error.ts'

/** Throws the error for a status other than 2xx. */
export function refuseFailure({ status, headers }: Answer, host: string, now = Date.now()): void {
  if (status >= 200 && status < 300) return
  if (status === 404) throw new TransferError('not_found', `${host} does not have it.`)
  if (status === 401 || status === 403) throw new TransferError('denied', `${host} refuses access to it (${status}).`)
  if (status === 429 || status === 408 || status >= 500) {
    const retryAfterMs = readRetryAfter(headers['retry-after'], now)
    const why = status === 429 ? 'limits the rate of downloads' : 'has an error'
    throw new TransferError('busy', `${host} ${why} (${status}).`, { retryAfterMs })
  }
  throw new TransferError('invalid', `${host} answers with status ${status}.`)
}

/** Returns a whole body. Throws if it is larger than `maxBytes`. */
export async function bytesOf(body: AsyncIterable<Uint8Array>, maxBytes: number, host: string): Promise<Uint8Array> {
  const whole = new WholeBytes()
  for await (const chunk of body) {
    whole.add(chunk)
    if (whole.length > maxBytes) throw new TransferError('too_large', `${host} sends more than ${maxBytes} bytes.`)
  }
  return whole.take()
}
