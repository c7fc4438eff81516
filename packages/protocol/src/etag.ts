import { z } from 'zod'

/** The form of a strong entity tag (RFC 9110, 8.8.3). */
export const etagForm = /^"[\x21\x23-\x7e]{1,128}"$/

/** The etag of a version of a thing, as answers have it. */
export const Etag = z.string().describe('The etag of this version, for `If-Match` of a change.')
