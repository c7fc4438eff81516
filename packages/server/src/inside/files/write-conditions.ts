import type { IncomingHttpHeaders } from 'node:http'
import { etagForm } from '@holt/protocol'
import { invalidField } from '../../foundation/wire/field-issues.ts'

/** The conditions of a write. */
interface WriteConditions {
  /** True if an existing file is refused. */
  readonly createOnly: boolean
  /** The etag that the existing file must have, or `*` for any. */
  readonly ifMatch?: string
}

/** Reads the conditions of a write from its headers: `If-None-Match: *`, or `If-Match`. */
export function writeConditions(headers: IncomingHttpHeaders): WriteConditions {
  const { 'if-none-match': none, 'if-match': match } = headers
  if (none !== undefined && none !== '*') throw invalidField('/header/If-None-Match', 'must be *')
  if (match === undefined) return { createOnly: none === '*' }
  if (none !== undefined) throw invalidField('/header/If-Match', 'excludes If-None-Match')
  if (match !== '*' && !etagForm.test(match))
    throw invalidField('/header/If-Match', 'must be * or one strong etag, as stat and the content have it')
  return { createOnly: false, ifMatch: match }
}
