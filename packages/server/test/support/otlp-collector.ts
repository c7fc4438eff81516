import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import { z } from 'zod'

/** A span as it arrived. */
interface CollectedSpan {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  /** Empty: none. */
  readonly parentSpanId: string
  readonly attributes: Readonly<Record<string, unknown>>
  /** 2: it failed. */
  readonly status: number
}

/** A collector that understands OTLP over HTTP as JSON (https://opentelemetry.io/docs/specs/otlp/#otlphttp). */
export interface OtlpCollector {
  readonly url: string
  readonly spans: readonly CollectedSpan[]
  /** Everything that it was sent, as it came. */
  readonly received: string
}

/** Starts a collector that ends with the test. */
export async function startOtlpCollector(): Promise<OtlpCollector> {
  const spans: CollectedSpan[] = []
  const bodies: string[] = []
  const server = createServer(async (request, response) => {
    const body = await text(request)
    bodies.push(body)
    spans.push(...spansOf(JSON.parse(body)))
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    get received() {
      return bodies.join('\n')
    },
  }
}

/** The part of `ExportTraceServiceRequest` that tests look at. */
const TraceRequest = z.object({
  resourceSpans: z.array(
    z.object({
      scopeSpans: z.array(
        z.object({
          spans: z.array(
            z.object({
              name: z.string(),
              traceId: z.string().regex(/^[0-9a-f]{32}$/),
              spanId: z.string().regex(/^[0-9a-f]{16}$/),
              parentSpanId: z.string().default(''),
              attributes: z.array(z.object({ key: z.string(), value: z.record(z.string(), z.unknown()) })),
              status: z.object({ code: z.number().default(0) }),
            }),
          ),
        }),
      ),
    }),
  ),
})

function spansOf(message: unknown): CollectedSpan[] {
  const scopes = TraceRequest.parse(message).resourceSpans.flatMap(({ scopeSpans }) => scopeSpans)
  return scopes
    .flatMap(({ spans }) => spans)
    .map(({ attributes, status, ...span }) => ({
      ...span,
      attributes: Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]])),
      status: status.code,
    }))
}
