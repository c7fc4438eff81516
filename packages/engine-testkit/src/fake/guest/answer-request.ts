import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { GuestRequest } from '@holt/engine'
import { HoltError } from '@holt/protocol'
import type { FakeAnswer } from './fake-answer.ts'
import { fileRoutes } from './fake-file-routes.ts'
import { guestRoutes } from './fake-guest-routes.ts'
import type { FakeParts } from './fake-route.ts'

/** The routes that an unbound guest answers. */
const always = /^\/v1\/(info|usage|bind|seed|quiesce)$/

const routes = [...guestRoutes, ...fileRoutes]

/** Finds the route of a request and answers it. Throws `HoltError` for a failure. */
export async function answerRequest(parts: FakeParts, request: GuestRequest): Promise<FakeAnswer> {
  const { pathname, searchParams: query } = new URL(request.path, 'http://guest')
  const connect = /^\/v1\/ports\/(\d+)\/connect$/.exec(pathname)
  if (connect !== null && parts.identity.bound !== null) return parts.ports.connect(Number(connect[1]), request)
  const body = await bodyOf(request)
  if (!always.test(pathname) && !parts.identity.isReady) throw new HoltError('conflict', 'not bound yet')
  for (const { method, pattern, handle } of routes) {
    const match = method === request.method ? pattern.exec(pathname) : null
    if (match !== null) return handle(parts, { name: match[1] ?? '', query, body, request })
  }
  throw new HoltError('route_not_found', `no route ${request.method} ${pathname}`)
}

async function bodyOf({ body }: GuestRequest): Promise<Buffer> {
  if (body === undefined) return Buffer.alloc(0)
  return body instanceof Readable ? buffer(body) : Buffer.from(body)
}
