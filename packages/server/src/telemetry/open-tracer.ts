import type { TracingConfig } from '../config/tracing-settings.ts'
import { version } from '../config/version.ts'
import type { Log } from '../service.ts'
import { noTracer, type Tracer } from './tracer.ts'

/**
 * The tracer that the settings ask for. Where they ask for none, its library is not even loaded.
 */
export async function openTracer(
  { tracing }: { readonly tracing: TracingConfig | null },
  { log, installationId }: { readonly log: Log; readonly installationId: string },
): Promise<Tracer> {
  if (tracing === null) return noTracer
  const { openOtelTracer } = await import('./otel-tracer.ts')
  return openOtelTracer({ log, version, installationId, sampleRatio: tracing.sampleRatio })
}
