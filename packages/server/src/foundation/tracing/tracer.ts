import type { IncomingHttpHeaders } from 'node:http'

/**
 * The attributes of a span: ids, names of routes and verbs, numbers. They never have a client's
 * text or a secret.
 */
export type SpanFacts = Readonly<Record<string, string | number | boolean>>

/** A span in progress. */
export interface ActiveSpan {
  readonly traceId: string
  readonly spanId: string
  set(facts: SpanFacts): void
  /** Ends the span. With `error`, it has failed. */
  end(error?: unknown): void
}

/** The destination of spans (https://opentelemetry.io/docs/specs/otel/trace/api/). */
export interface Tracer {
  /** True if spans are sent. */
  readonly isOn: boolean
  /** Runs work as a child of the current span. Rejects with the error of `work`. */
  span<Result>(name: string, facts: SpanFacts, work: () => Promise<Result>): Promise<Result>
  /**
   * Begins the span of a request, with the parent that its `traceparent` names. Returns null if
   * nothing is traced.
   */
  beginRequest(name: string, headers: IncomingHttpHeaders, facts: SpanFacts): ActiveSpan | null
  /** Sends the waiting spans. */
  close(): Promise<void>
}

/** A tracer that does nothing. */
export const noTracer: Tracer = {
  isOn: false,
  span: (_name, _facts, work) => work(),
  beginRequest: () => null,
  close: async () => {},
}
