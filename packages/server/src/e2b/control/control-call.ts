import type { IncomingMessage } from 'node:http'
import type { IdKind, Scope } from '@holt/protocol'
import type { z } from 'zod'
import type { Api } from '../../api/api.ts'
import type { Caller } from '../../foundation/request/caller.ts'
import type { RuntimeRef } from '../../foundation/rows/find-runtime.ts'
import type { WantedThing } from '../../foundation/wire/forwarder.ts'
import type { E2bAnswer } from '../answers/write-answer.ts'

/** A request of the control plane: authenticated, authorised and parsed. */
export interface ControlCall<Body, Query> {
  readonly service: Api
  readonly request: IncomingMessage
  readonly caller: Caller
  readonly params: Readonly<Record<string, string>>
  readonly body: Body
  readonly query: Query
  /** The project of the caller and the runtime that the path names. */
  readonly ref: RuntimeRef
  /** Aborts when the client is gone, its key is revoked, or the service closes. */
  readonly gone: AbortSignal
  /** Reserves memory for an answer of this size. */
  keepAnswer(bytes: number): void
  /** Returns an id for a new thing. It is the same when a request is repeated. */
  newId(kind: IdKind): string
}

/** A route of the control plane. */
export interface ControlRoute {
  readonly scope: Scope | 'any'
  readonly body: z.ZodType | null
  readonly query: z.ZodType | null
  /** True if it only reads: it has no entry in the audit log. */
  readonly reads: boolean
  readonly handle: (call: ControlCall<never, never>) => Promise<E2bAnswer>
  /**
   * Returns the runtime or build that the request makes, by which a host is chosen. Absent: it
   * makes none.
   */
  readonly makes?: (call: ControlCall<never, never>) => Promise<WantedThing>
  /** True if a paused runtime resumes for the request. */
  readonly wakes: boolean
}

type Parsed<Schema> = Schema extends z.ZodType ? z.output<Schema> : unknown

interface Definition<Body, Query> {
  readonly scope: Scope | 'any'
  readonly body?: Body
  readonly query?: Query
  readonly handle: (call: ControlCall<Parsed<Body>, Parsed<Query>>) => Promise<E2bAnswer>
  readonly makes?: (call: ControlCall<Parsed<Body>, Parsed<Query>>) => Promise<WantedThing>
  readonly wakes?: boolean
}

/** Makes a route. A route with a scope that ends in `:read` only reads. */
export function route<Body extends z.ZodType | undefined, Query extends z.ZodType | undefined>({
  scope,
  body,
  query,
  handle,
  makes,
  wakes = false,
}: Definition<Body, Query>): ControlRoute {
  // The parsed parts of a call are those of its own schemas.
  const untyped = { handle, ...(makes === undefined ? {} : { makes }) } as unknown as Pick<
    ControlRoute,
    'handle' | 'makes'
  >
  return { scope, body: body ?? null, query: query ?? null, reads: scope.endsWith(':read'), wakes, ...untyped }
}
