import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import type { IdKind, Page, RouteName, routes } from '@holt/protocol'
import type { z } from 'zod'
import type { Caller } from '../auth/authenticate.ts'
import type { Service } from '../service.ts'

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

/** A request of one route: authenticated, authorised and parsed. */
export interface Call<Name extends RouteName> {
  readonly service: Service
  readonly caller: CallerOf<Name>
  readonly params: ParamsOf<Name>
  readonly query: QueryOf<Name>
  /** The parsed JSON, or the bytes as they come. */
  readonly body: BodyOf<Name>
  /** The names of the JSON fields that were sent, to tell a default from the same value given. */
  readonly sentFields: ReadonlySet<string>
  readonly headers: IncomingHttpHeaders
  /** Ends when the client is gone, its key is revoked, or the service closes. */
  readonly gone: AbortSignal
  /**
   * Counts bytes that are kept until the request is answered. False where its project or the
   * service keeps too much already: then they are not to be kept.
   */
  keep(bytes: number): boolean
  /** Makes room for an answer of so many bytes before it is written. Throws where there is none. */
  keepAnswer(bytes: number): void
  /**
   * The id for what the request makes. It is the same when a request is repeated with its
   * `Idempotency-Key` after a crash.
   */
  newId<Kind extends IdKind>(kind: Kind): string
  /**
   * What a guest is told with what changes something inside, so that it is not done again where the
   * request is repeated; null without an `Idempotency-Key`. Whoever asks is about to send it: from
   * then on something may have come of the request, whatever fails.
   */
  readonly operation: () => string | null
}

/** An answer: JSON, what is written down already, bytes or items as they come, or nothing. */
export type Answer =
  | {
      readonly status: number
      readonly json: unknown
      /**
       * The same in about so many bytes, for who sends the request again: a long answer is not kept
       * whole.
       */
      readonly shorten?: (maxBytes: number) => unknown
    }
  | { readonly status: number; readonly written: Buffer; readonly headers: Readonly<Record<string, string>> }
  | { readonly status: number; readonly bytes: Readable; readonly headers: Readonly<Record<string, string>> }
  | { readonly status: number; readonly items: AsyncIterable<StreamItem> }
  | { readonly status: 204 }
  | { readonly status: 304; readonly headers: Readonly<Record<string, string>> }

/** An item of a stream; `cursor` is where to resume after it. */
export interface StreamItem {
  readonly type: string
  readonly cursor: number
}

/** Ends when the client is gone, or when the time is over. */
export function within({ gone }: { readonly gone: AbortSignal }, timeoutMs: number): AbortSignal {
  return AbortSignal.any([gone, AbortSignal.timeout(timeoutMs)])
}

/** Answers one route. */
type Handler<Name extends RouteName> = (call: Call<Name>) => Promise<Answer>

/** A handler for every route: one that is missing is a type error. */
export type Handlers = { readonly [Name in RouteName]: Handler<Name> }

/** A page as an answer. */
export function answerPage<Item>(page: Page<Item>): Answer {
  return { status: 200, json: page }
}
