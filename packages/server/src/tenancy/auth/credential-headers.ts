import { ownCallHeader } from '../audit/own-calls.ts'
import { consoleHeader } from '../console/own-page.ts'

/** The headers of a request that prove or name its sender to this service. */
const credentials: ReadonlySet<string> = new Set(['authorization', 'cookie', 'x-api-key', consoleHeader, ownCallHeader])

/**
 * Returns true for a header that does not go to the owner of a runtime with a forwarded request. An
 * owner runs untrusted code and needs no key of a client. `name` is in lower case.
 */
export function isCredentialHeader(name: string): boolean {
  return credentials.has(name)
}

/**
 * Returns true for a header that only hosts of a fleet send to each other. `name` is in lower case.
 */
export function isFleetHeader(name: string): boolean {
  return name.startsWith('holt-')
}
