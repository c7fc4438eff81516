import type { IncomingMessage, ServerResponse } from 'node:http'
import { invalidField } from './field-issues.ts'

/**
 * Throws for a request with a transfer coding other than `chunked`, and makes its answer the last
 * one of its connection. A proxy in front of the service could read a coding that is not decoded
 * here in another way (RFC 9112, 6.1).
 */
export function requireOneFraming({ headers }: IncomingMessage, response: ServerResponse): void {
  const coding = headers['transfer-encoding']
  if (coding === undefined || coding.trim().toLowerCase() === 'chunked') return
  response.shouldKeepAlive = false
  throw invalidField('/header/Transfer-Encoding', 'must be chunked')
}
