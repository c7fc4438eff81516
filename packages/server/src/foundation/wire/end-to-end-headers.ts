import type { IncomingMessage } from 'node:http'
import { hopByHopHeaders } from '@holt/protocol'

/** The raw headers of Node: name, value, name, value. */
export type RawHeaders = readonly string[]

/** Returns raw headers as pairs. */
export function headerPairs(raw: RawHeaders): [string, string][] {
  return Array.from({ length: raw.length / 2 }, (_, at) => [raw[2 * at] ?? '', raw[2 * at + 1] ?? ''])
}

/** Returns the fields that the `Connection` header of a message lists, in lower case. */
export function connectionOptions({ headers }: Pick<IncomingMessage, 'headers'>): readonly string[] {
  return (headers.connection ?? '')
    .split(',')
    .map((option) => option.trim().toLowerCase())
    .filter((option) => option !== '')
}

/**
 * Returns the headers of a message that a proxy forwards: all that do not concern one connection
 * only (RFC 9110, 7.6.1). `hides` drops more of them, by their names in lower case.
 */
export function endToEndHeaders(
  message: Pick<IncomingMessage, 'headers' | 'rawHeaders'>,
  hides: (name: string, value: string) => boolean = () => false,
): RawHeaders {
  const dropped = new Set<string>([...hopByHopHeaders, ...connectionOptions(message)])
  return headerPairs(message.rawHeaders)
    .filter(([name, value]) => {
      const lower = name.toLowerCase()
      return !dropped.has(lower) && !hides(lower, value)
    })
    .flat()
}
