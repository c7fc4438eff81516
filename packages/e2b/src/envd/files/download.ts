import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import type { FileContent, Files, Place } from '../backend/files.ts'

/** The forms of a range and of an etag. No other condition can be true. */
const rangeForm = /^bytes=(?:\d{1,16}-\d{0,16}|-\d{1,16})$/
const etagForm = /^"[\x21\x23-\x7e]{1,128}"$/

/** A download of a file. */
interface Download {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly files: Files
  readonly place: Place
  readonly signal: AbortSignal
}

/**
 * Sends a file. An empty one has `Content-Length: 0`, for which clients look. A file without a true
 * size, as in `/proc`, is sent to its end.
 */
export async function download({ request, response, files, place, signal }: Download): Promise<void> {
  const { range, 'if-range': condition } = request.headers
  const content = await files.read(
    {
      ...place,
      // A range of another form is ignored. A condition that is no etag is never true (RFC 9110).
      range: range !== undefined && rangeForm.test(range) ? range : null,
      ifRange: condition === undefined ? null : etagForm.test(String(condition)) ? String(condition) : '""',
    },
    signal,
  )
  const isZipped = content.status === 200 && wantsGzip(request)
  try {
    response.writeHead(content.status, headersOf(content, isZipped))
    if (isZipped) await pipeline(content.body, createGzip(), response)
    else await pipeline(content.body, response)
  } finally {
    content.body.destroy()
  }
}

/** Returns true if the client asks for gzip alone. Most HTTP clients name it among others. */
function wantsGzip({ headers }: IncomingMessage): boolean {
  return (
    String(headers['accept-encoding'] ?? '')
      .trim()
      .toLowerCase() === 'gzip'
  )
}

function headersOf({ headers }: FileContent, isZipped: boolean): Record<string, string> {
  const { 'content-length': length, etag, ...rest } = headers
  const common = { ...rest, 'content-type': 'application/octet-stream', vary: 'Accept-Encoding, Origin' }
  if (isZipped) return { ...common, 'content-encoding': 'gzip' }
  return {
    ...common,
    'accept-ranges': 'bytes',
    ...(etag === undefined ? {} : { etag }),
    ...(length === undefined ? {} : { 'content-length': length }),
  }
}
