import type { IncomingHttpHeaders } from 'node:http'
import { invalidField } from '../../foundation/wire/field-issues.ts'
import { ifMatchOf } from '../../foundation/wire/if-match.ts'

/** The conditions of a write. */
interface WriteConditions {
  /** True if an existing file is refused. */
  readonly createOnly: boolean
  /** The etag that the existing file must have, or `*` for any. */
  readonly ifMatch?: string
}

/** Reads the conditions of a write from its headers: `If-None-Match: *`, or `If-Match`. */
export function writeConditions(headers: IncomingHttpHeaders): WriteConditions {
  const { 'if-none-match': none } = headers
  if (none !== undefined && none !== '*') throw invalidField('/header/If-None-Match', 'must be *')
  const match = ifMatchOf(headers)
  if (match === undefined) return { createOnly: none === '*' }
  if (none !== undefined) throw invalidField('/header/If-Match', 'excludes If-None-Match')
  return { createOnly: false, ifMatch: match }
}
