import type { IncomingHttpHeaders } from 'node:http'
import {
  type Context,
  DiagLogLevel,
  diag,
  type Tracer as OtelApiTracer,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { Log } from '../log.ts'
import type { ActiveSpan, SpanFacts } from '../request/active-span.ts'
import { currentRequest, runFor } from '../request/request-context.ts'
import type { Tracer } from './tracer.ts'

/**
 * The time limit for the last spans at a stop, in milliseconds. A stop does not wait for an absent
 * collector.
 */
const closeTimeoutMs = 2_000

/** The least interval between warnings about the collector, in milliseconds. */
const complaintMs = 60_000

/** The maximum number of characters of a value. Longer texts are cut. */
const maxValueLength = 256

/** The settings of the tracer. */
export interface OtelOptions {
  readonly log: Log
  readonly version: string
  readonly installationId: string
  /** The share of requests that are traced if the client does not decide. */
  readonly sampleRatio: number
}

/**
 * Returns a tracer that sends spans by OTLP over HTTP, in batches. The environment names the
 * destination (https://opentelemetry.io/docs/specs/otel/protocol/exporter/).
 */
export function openOtelTracer({ log, version, installationId, sampleRatio }: OtelOptions): Tracer {
  diag.setLogger(complaints(log), DiagLogLevel.WARN)
  const own = resourceFromAttributes({
    'service.name': 'holtd',
    'service.version': version,
    'service.instance.id': installationId,
  })
  const provider = new TracerProvider({
    resource: own.merge(detectResources({ detectors: [envDetector] })),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(sampleRatio) }),
    spanLimits: { attributeValueLengthLimit: maxValueLength },
    spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter() })],
  })
  return new OtelTracer(provider, provider.getTracer('holt', version))
}

class OtelTracer implements Tracer {
  readonly isOn = true
  readonly #provider: TracerProvider
  readonly #tracer: OtelApiTracer

  constructor(provider: TracerProvider, tracer: OtelApiTracer) {
    this.#provider = provider
    this.#tracer = tracer
  }

  async span<Result>(name: string, facts: SpanFacts, work: () => Promise<Result>): Promise<Result> {
    const around = currentRequest()
    const attributes = { ...facts }
    const span = new OtelSpan(this.#tracer.startSpan(name, { attributes }, contextOf(around?.span ?? null)))
    try {
      const result = await runFor({ requestId: '', caller: null, ...around, span }, work)
      span.end()
      return result
    } catch (error) {
      span.end(error)
      throw error
    }
  }

  beginRequest(name: string, headers: IncomingHttpHeaders, facts: SpanFacts): ActiveSpan {
    const remote = parseTraceparent(headers.traceparent)
    const parent = remote === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, remote)
    return new OtelSpan(this.#tracer.startSpan(name, { kind: SpanKind.SERVER, attributes: { ...facts } }, parent))
  }

  async close(): Promise<void> {
    const timer = Promise.withResolvers<void>()
    const timeout = setTimeout(timer.resolve, closeTimeoutMs)
    // A failure to send was already logged.
    await Promise.race([this.#provider.shutdown().catch(() => {}), timer.promise])
    clearTimeout(timeout)
  }
}

class OtelSpan implements ActiveSpan {
  readonly span: Span

  constructor(span: Span) {
    this.span = span
  }

  get traceId(): string {
    return this.span.spanContext().traceId
  }

  get spanId(): string {
    return this.span.spanContext().spanId
  }

  get isSampled(): boolean {
    return (this.span.spanContext().traceFlags & TraceFlags.SAMPLED) !== 0
  }

  set(facts: SpanFacts): void {
    this.span.setAttributes(facts)
  }

  /** Ends the span. An error is recorded by its kind, because its message may quote a client. */
  end(error?: unknown): void {
    if (error !== undefined) {
      this.span.setAttribute('error.type', kindOf(error))
      this.span.setStatus({ code: SpanStatusCode.ERROR })
    }
    this.span.end()
  }
}

function contextOf(span: ActiveSpan | null): Context {
  return span instanceof OtelSpan ? trace.setSpan(ROOT_CONTEXT, span.span) : ROOT_CONTEXT
}

/**
 * Returns the kind of an engine's error, the code of the catalogue's or the system's, or else the
 * class name.
 */
function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  const { kind, code }: { kind?: unknown; code?: unknown } = error as object
  return typeof kind === 'string' ? kind : typeof code === 'string' ? code : error.name
}

/**
 * Returns the parent span that a client names
 * (https://www.w3.org/TR/trace-context/#traceparent-header). Returns null if there is none, or if
 * the header is invalid.
 */
export function parseTraceparent(header: string | string[] | undefined): SpanContext | null {
  if (typeof header !== 'string') return null
  const [, version, traceId = '', spanId = '', flags = ''] =
    /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/.exec(header) ?? []
  if (version === undefined || version === 'ff' || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return null
  if (version === '00' && header.length !== 55) return null
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true }
}

/** Returns a logger for the library's warnings, with at most one a minute. */
function complaints(log: Log) {
  let last = Number.NEGATIVE_INFINITY
  const warn = (message: string) => {
    if (performance.now() - last < complaintMs) return
    last = performance.now()
    log.warn({ problem: message.slice(0, 500) }, 'traces are not sent')
  }
  const ignore = () => {}
  return { error: warn, warn, info: ignore, debug: ignore, verbose: ignore }
}
