import type { IncomingMessage } from 'node:http'
import { ConnectError } from '../../errors/connect-error.ts'

const prefix = 'x-metadata-'

/** The bounds on the texts that are stored with a file, in bytes. */
const maxKeyBytes = 246
const maxBytes = 4096

/**
 * Returns the texts that an upload stores with its files: the headers `X-Metadata-<key>`. Throws
 * `invalid_argument` if they are not printable ASCII, or too long.
 */
export function metadataIn({ rawHeaders }: IncomingMessage): Readonly<Record<string, string>> {
  const metadata = new Map<string, string>()
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? '').toLowerCase()
    if (name.startsWith(prefix)) metadata.set(name.slice(prefix.length), rawHeaders[at + 1] ?? '')
  }
  let bytes = 0
  for (const [key, value] of metadata) {
    if (key === '' || key.length > maxKeyBytes)
      throw new ConnectError('invalid_argument', `A metadata key must have 1 to ${maxKeyBytes} characters.`)
    if (!/^[\x20-\x7e]*$/.test(value))
      throw new ConnectError('invalid_argument', `The metadata value of ${key} must be printable ASCII.`)
    bytes += key.length + value.length
  }
  if (bytes > maxBytes)
    throw new ConnectError('invalid_argument', `Metadata may have at most ${maxBytes} bytes together.`)
  return Object.fromEntries(metadata)
}
