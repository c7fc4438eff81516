import type { TracingConfig } from '../config/tracing-settings.ts'
import { version } from '../config/version.ts'
import type { Log } from '../log.ts'
import { noTracer, type Tracer } from './tracer.ts'

/** Returns the tracer of the settings. The library is only loaded if tracing is on. */
export async function openTracer(
  { tracing }: { readonly tracing: TracingConfig | null },
  { log, installationId }: { readonly log: Log; readonly installationId: string },
): Promise<Tracer> {
  if (tracing === null) return noTracer
  const { openOtelTracer } = await import('./otel-tracer.ts')
  return openOtelTracer({ log, version, installationId, sampleRatio: tracing.sampleRatio })
}
