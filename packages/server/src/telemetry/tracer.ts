import type { IncomingHttpHeaders } from 'node:http'

/**
 * What a span is told: ids, names of routes and verbs, numbers. Never text of a client, and no
 * secret.
 */
export type SpanFacts = Readonly<Record<string, string | number | boolean>>

/** A span that is under way. */
export interface ActiveSpan {
  readonly traceId: string
  readonly spanId: string
  set(facts: SpanFacts): void
  /** Ends it; with `error` as one that failed. */
  end(error?: unknown): void
}

/** Where spans go (https://opentelemetry.io/docs/specs/otel/trace/api/). */
export interface Tracer {
  /** Whether anybody looks at them. */
  readonly isOn: boolean
  /** Runs work as a span, below the one that is under way. What it rejects with, this does. */
  span<Result>(name: string, facts: SpanFacts, work: () => Promise<Result>): Promise<Result>
  /**
   * Begins the span of a request, below the one that its `traceparent` names; null where nothing is
   * traced.
   */
  beginRequest(name: string, headers: IncomingHttpHeaders, facts: SpanFacts): ActiveSpan | null
  /** Sends what waits. */
  close(): Promise<void>
}

/** Traces nothing, and costs nothing. */
export const noTracer: Tracer = {
  isOn: false,
  span: (_name, _facts, work) => work(),
  beginRequest: () => null,
  close: async () => {},
}
