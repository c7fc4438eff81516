import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import type { GuestClient } from '@holt/guest-client'
import type { IdKind, Page, RouteName, routes } from '@holt/protocol'
import type { z } from 'zod'
import type { Caller } from '../request/caller.ts'
import type { RuntimeRef } from '../rows/find-runtime.ts'

type RouteOf<Name extends RouteName> = (typeof routes)[Name]
type Parsed<Value> = Value extends z.ZodType ? z.output<Value> : undefined
type ParamsOf<Name extends RouteName> = RouteOf<Name> extends { params: infer Schema } ? Parsed<Schema> : undefined
type QueryOf<Name extends RouteName> = RouteOf<Name> extends { query: infer Schema } ? Parsed<Schema> : undefined
type BodyOf<Name extends RouteName> = RouteOf<Name>['body'] extends { type: 'json'; schema: infer Schema }
  ? Parsed<Schema>
  : RouteOf<Name>['body'] extends { type: 'bytes' }
    ? Readable
    : undefined
type CallerOf<Name extends RouteName> = RouteOf<Name>['scope'] extends null ? null : Caller

/** The additional members of calls whose route is below a runtime. */
interface OfRuntime {
  readonly ref: RuntimeRef
  /**
   * Opens the way into the runtime, which resumes for that if it is paused. A change inside is done
   * only once, also if the request is repeated with its `Idempotency-Key`.
   */
  guest(): Promise<GuestClient>
}

/** A request of one route: authenticated, authorised and parsed. */
export type Call<Name extends RouteName, District> = CallOf<Name, District> &
  (ParamsOf<Name> extends { readonly runtime_id: string } ? OfRuntime : unknown)

interface CallOf<Name extends RouteName, District> {
  /** The handle of the district that answers the call. */
  readonly service: District
  readonly caller: CallerOf<Name>
  readonly params: ParamsOf<Name>
  readonly query: QueryOf<Name>
  /** The parsed JSON, or the bytes as they arrive. */
  readonly body: BodyOf<Name>
  /**
   * The names of the JSON fields that were sent. They distinguish a default from the same value
   * that was sent.
   */
  readonly sentFields: ReadonlySet<string>
  readonly headers: IncomingHttpHeaders
  /** Aborts when the client is gone, its key is revoked, or the service closes. */
  readonly gone: AbortSignal
  /**
   * Counts bytes that are kept until the request is answered. Returns false if its project or the
   * service keeps too much already. The caller must not keep them then.
   */
  keep(bytes: number): boolean
  /** Takes room for an answer of so many bytes before it is written. Throws if there is none. */
  keepAnswer(bytes: number): void
  /**
   * Returns an id for a resource that the request makes. The id is the same when a request is
   * repeated with its `Idempotency-Key` after a crash.
   */
  newId<Kind extends IdKind>(kind: Kind): string
  /**
   * Returns the id that a guest gets with a change, so that a repeated request does not make the
   * change again. Returns null without an `Idempotency-Key`. The caller is about to send it: after
   * the call the request may have had an effect, whatever fails.
   */
  readonly operation: () => string | null
}

/** An answer: JSON, prepared bytes, a stream of bytes or items, or nothing. */
export type Answer =
  | {
      readonly status: number
      readonly json: unknown
      /**
       * Returns the same answer in about `maxBytes`, for a repeat of the request. A long answer is
       * not kept whole.
       */
      readonly shorten?: (maxBytes: number) => unknown
    }
  | { readonly status: number; readonly written: Buffer; readonly headers: Readonly<Record<string, string>> }
  | { readonly status: number; readonly bytes: Readable; readonly headers: Readonly<Record<string, string>> }
  | { readonly status: number; readonly items: AsyncIterable<StreamItem> }
  | { readonly status: 204 }
  | { readonly status: 304 | 308; readonly headers: Readonly<Record<string, string>> }

/** An item of a stream. A reader can resume after `cursor`. */
export interface StreamItem {
  readonly type: string
  readonly cursor: number
}

/** Returns a signal that aborts when the client is gone or the time is over. */
export function within({ gone }: { readonly gone: AbortSignal }, timeoutMs: number): AbortSignal {
  return AbortSignal.any([gone, AbortSignal.timeout(timeoutMs)])
}

/** Returns a page as an answer. */
export function answerPage<Item>(page: Page<Item>): Answer {
  return { status: 200, json: page }
}
