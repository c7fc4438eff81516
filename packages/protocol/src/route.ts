import type { z } from 'zod'
import type { ErrorCode } from './errors.ts'
import type { Scope } from './key.ts'

/** The body of a request: nothing, JSON of a schema, or raw bytes. */
export type RouteBody =
  | { readonly type: 'none' }
  | { readonly type: 'json'; readonly schema: z.ZodType }
  | { readonly type: 'bytes'; readonly description: string }

/**
 * The body of a success: nothing, JSON, bytes, a stream of items, or a WebSocket. A stream is
 * Server-Sent Events on request, otherwise NDJSON.
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
 * The host of a fleet that answers a route. `owner`: the host of the runtime in the path. `placed`:
 * the host that placement chooses. `builder`: the host of the build. `entry`: the host that
 * received the request, from rows that all hosts share. On a single machine they are all the same.
 */
export type RunsOn = 'owner' | 'placed' | 'builder' | 'entry'

/**
 * One route of the API, as data. The server registers it, OpenAPI is generated from it, and tests
 * iterate over it.
 */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** The path, with `{name}` for parameters. */
  readonly path: string
  readonly runsOn: RunsOn
  /**
   * The effect on a paused runtime. `answer`: none, because its rows are enough. `resume`: it is
   * resumed, even if requests do not resume it. Absent: it is resumed if requests may do that.
   */
  readonly whilePaused?: 'answer' | 'resume'
  readonly summary: string
  readonly description?: string
  /** The scope that a key needs. `any`: every key is enough. Null: no key is needed. */
  readonly scope: Scope | 'any' | null
  readonly params?: z.ZodType
  readonly query?: z.ZodType
  readonly body: RouteBody
  /** The successes by status. */
  readonly answers: Readonly<Record<number, RouteAnswer>>
  /** The errors that this route may return, besides those of every route. */
  readonly errors: readonly ErrorCode[]
  /**
   * True if a success contains a secret that is shown only once. Under the same `Idempotency-Key`
   * it is repeated to the key that sent the request, and to no other key of the project.
   */
  readonly showsSecret?: true
  /**
   * True if `dry_run: true` in the body makes the request a question. It changes nothing, and
   * leaves no record of its `Idempotency-Key` and no audit entry.
   */
  readonly hasDryRun?: true
  /**
   * True if the request takes the header `If-Match`: `*`, or the etag of the version that it
   * changes. For another version it fails with `precondition_failed`, and changes nothing.
   */
  readonly takesIfMatch?: true
}

/** The errors that any route with a key may return. */
export const commonErrors = [
  'invalid_request',
  'unauthenticated',
  'forbidden',
  'too_large',
  'rate_limited',
  'internal',
  'unavailable',
] as const satisfies readonly ErrorCode[]
