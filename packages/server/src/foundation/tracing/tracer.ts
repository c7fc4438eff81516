import type { IncomingHttpHeaders } from 'node:http'
import type { ActiveSpan, SpanFacts } from '../request/active-span.ts'

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
