import { EngineError } from '@holt/engine'
import type { GuestFile } from '@holt/guest-client'
import { wrongCursor } from '../../foundation/store/page-cursor.ts'

// Names are bytes, so a list's cursor has the bytes of the last path, relative to the list's own.

/** Returns the cursor after an entry of a list of `base`. */
export function cursorAfter(base: string, entry: Pick<GuestFile, 'path' | 'path_base64'>): string {
  const path = entry.path_base64 === undefined ? Buffer.from(entry.path) : Buffer.from(entry.path_base64, 'base64')
  const prefix = Buffer.from(base === '/' ? '/' : `${base}/`)
  if (path.length <= prefix.length || !path.subarray(0, prefix.length).equals(prefix)) {
    throw new EngineError('wrong_answer', 'the guest listed a path outside the requested one')
  }
  return path.subarray(prefix.length).toString('base64url')
}

/** Returns the percent-encoded relative path in a cursor. */
export function pathInCursor(cursor: string): string {
  const bytes = Buffer.from(cursor, 'base64url')
  if (bytes.length === 0 || bytes.includes(0) || bytes.toString('base64url') !== cursor) throw wrongCursor()
  return [...bytes].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
}
