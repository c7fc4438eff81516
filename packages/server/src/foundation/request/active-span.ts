/**
 * The attributes of a span: ids, names of routes and verbs, numbers. They never have a client's
 * text or a secret.
 */
export type SpanFacts = Readonly<Record<string, string | number | boolean>>

/** A span in progress. */
export interface ActiveSpan {
  readonly traceId: string
  readonly spanId: string
  /** True if the span is sent. */
  readonly isSampled: boolean
  set(facts: SpanFacts): void
  /** Ends the span. With `error`, it has failed. */
  end(error?: unknown): void
}
