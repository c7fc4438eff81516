import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Answer } from '../call.ts'
import type { ApiDocument } from './document.ts'
import { renderPage } from './render-page.ts'
import { style } from './style.ts'

/**
 * Answers with the page of a document, or that the reader has it. The page is made when somebody
 * first asks, so that no start waits for it, and sent from the same memory to everybody.
 */
export function docsPage(document: ApiDocument): (headers: IncomingHttpHeaders) => Answer {
  let page: Page | null = null
  return ({ 'if-none-match': known }) => {
    page ??= makePage(document)
    const { written, etag } = page
    const headers = {
      etag,
      // Kept by the reader, and asked about each time: another version of the service has another
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

/** The page has a stylesheet, and may load, run, send and be framed by nothing. */
const policy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/**
 * Whether `If-None-Match` names a tag (RFC 9110, 13.1.2: any, or one of a list, by weak
 * comparison).
 */
function isNamed(etag: string, header: string | undefined): boolean {
  const tags = header?.split(',').map((tag) => tag.trim().replace(/^W\//, '')) ?? []
  return tags.includes('*') || tags.includes(etag)
}
