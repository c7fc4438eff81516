import type { z } from 'zod'
import type { ErrorCode } from './errors.ts'
import type { Scope } from './key.ts'

/** What a request carries: nothing, JSON of a schema, or bytes as they come. */
export type RouteBody =
  | { readonly type: 'none' }
  | { readonly type: 'json'; readonly schema: z.ZodType }
  | { readonly type: 'bytes'; readonly description: string }

/**
 * What a success carries: nothing, JSON, bytes, a stream of items (Server-Sent Events where asked
 * for, else NDJSON), or a WebSocket.
 */
export type RouteAnswer =
  | { readonly type: 'none'; readonly description: string }
  | { readonly type: 'json'; readonly schema: z.ZodType; readonly description: string; readonly stream?: z.ZodType }
  | { readonly type: 'bytes'; readonly description: string; readonly mediaType?: string }
  | { readonly type: 'stream'; readonly item: z.ZodType; readonly description: string }
  | {
      readonly type: 'websocket'
      /** The text frames of the service and of the client. */
      readonly server: z.ZodType
      readonly client: z.ZodType
      readonly description: string
    }

/**
 * One route of the API, as data. The server registers it, OpenAPI is generated from it, tests walk
 * it.
 */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Path with `{name}` for parameters. */
  readonly path: string
  readonly summary: string
  readonly description?: string
  /** The scope a key needs; `any`: whatever key it is; null: no key at all. */
  readonly scope: Scope | 'any' | null
  readonly params?: z.ZodType
  readonly query?: z.ZodType
  readonly body: RouteBody
  /** Successes by status. */
  readonly answers: Readonly<Record<number, RouteAnswer>>
  /** The errors this route may answer, besides those every route may. */
  readonly errors: readonly ErrorCode[]
  /**
   * True where a success has a secret that nobody is shown again: under the same `Idempotency-Key`
   * it is given once more to the key that asked, and to no other of its project.
   */
  readonly showsSecret?: true
  /**
   * True where `dry_run: true` in the body makes the request a question: it changes nothing, and
   * leaves no record of its `Idempotency-Key` and no audit entry.
   */
  readonly hasDryRun?: true
}

/** Errors that any route with a key may answer. */
export const commonErrors = [
  'invalid_request',
  'unauthenticated',
  'forbidden',
  'too_large',
  'rate_limited',
  'internal',
  'unavailable',
] as const satisfies readonly ErrorCode[]
