import { TarError } from '@holt/tar'
import type { KeptNames } from '../entry.ts'

const SLASH = 0x2f
/**
 * The maximum number of names that are decoded at once. A list of 2 MiB can have a million, and
 * other requests need their turn.
 */
const MAX_GROUP = 1000

/**
 * Decodes a list of names that an export keeps from the image below, as it is read
 * (`guest/PROTOCOL.md`, Images). Each string ends with NUL. A string that ends in a slash is a
 * directory, and the strings after it are names in that directory. A directory has at least one
 * name, so that the limit of entries bounds the work.
 */
export function* decodeKeptNames(list: Buffer): Generator<KeptNames> {
  let directory: Buffer | null = null
  let names: Buffer[] = []
  let isNamed = true
  for (let at = 0; at < list.length; ) {
    const end = list.indexOf(0, at)
    if (end === -1) throw malformed('a list of names ends within a name')
    const text = list.subarray(at, end)
    at = end + 1
    if (text.at(-1) === SLASH) {
      if (!isNamed) throw malformed('a list of names has a directory without names')
      if (directory !== null && names.length > 0) yield { directory, names }
      ;[directory, names, isNamed] = [text, [], false]
      continue
    }
    if (directory === null) throw malformed('a list of names begins without a directory')
    if (text.length === 0 || text.includes(SLASH)) throw malformed('a list of names has an invalid name')
    names.push(text)
    isNamed = true
    if (names.length < MAX_GROUP) continue
    yield { directory, names }
    names = []
  }
  if (!isNamed) throw malformed('a list of names has a directory without names')
  if (directory !== null && names.length > 0) yield { directory, names }
}

function malformed(detail: string): TarError {
  return new TarError('tar_malformed', '', detail)
}
