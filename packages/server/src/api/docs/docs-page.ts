import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Answer } from '../../foundation/wire/call.ts'
import type { ApiDocument } from './document.ts'
import { renderPage } from './render-page.ts'
import { style } from './style.ts'

/**
 * Returns a handler that sends the page of a document, or 304 if the reader has it. The page is
 * made on the first request, so that no start waits for it. All readers get it from the same
 * memory.
 */
export function docsPage(document: ApiDocument): (headers: IncomingHttpHeaders) => Answer {
  let page: Page | null = null
  return ({ 'if-none-match': known }) => {
    page ??= makePage(document)
    const { written, etag } = page
    const headers = {
      etag,
      // The reader keeps the page and asks each time. Another version of the service has another
      // page.
      'cache-control': 'no-cache',
      'content-security-policy': policy,
      'referrer-policy': 'no-referrer',
    }
    if (isNamed(etag, known)) return { status: 304, headers }
    return { status: 200, written, headers: { ...headers, 'content-type': 'text/html; charset=utf-8' } }
  }
}

interface Page {
  readonly written: Buffer
  readonly etag: string
}

function makePage(document: ApiDocument): Page {
  const written = Buffer.from(renderPage(document))
  return { written, etag: `"${createHash('sha256').update(written).digest('base64url')}"` }
}

/**
 * The policy of the page. It has a stylesheet. Nothing may be loaded, run or sent by it, and
 * nothing may frame it.
 */
const policy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/**
 * Returns true if `If-None-Match` names a tag (RFC 9110, 13.1.2: any, or one of a list, by weak
 * comparison).
 */
function isNamed(etag: string, header: string | undefined): boolean {
  const tags = header?.split(',').map((tag) => tag.trim().replace(/^W\//, '')) ?? []
  return tags.includes('*') || tags.includes(etag)
}
