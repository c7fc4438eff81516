import { z } from 'zod'

/** How requests are traced. */
export interface TracingConfig {
  /** The share of requests that are traced where their client does not say. */
  readonly sampleRatio: number
}

const endpoint = z
  .string()
  .refine((text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol), 'must be an http address')
  .optional()

/**
 * OpenTelemetry's own variables
 * (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/); its library
 * reads those about the way to the collector itself.
 */
export const tracingSettings = {
  OTEL_EXPORTER_OTLP_ENDPOINT: endpoint.describe(
    'The collector that receives traces (OTLP over HTTP). Without it there are none. See [operations.md](operations.md#traces).',
  ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: endpoint.describe(
    'The complete address for traces alone, instead of the one above.',
  ),
  OTEL_SDK_DISABLED: z.string().optional().describe('`true` turns traces off.'),
  OTEL_TRACES_SAMPLER_ARG: z
    .string()
    .refine((text) => Number(text) >= 0 && Number(text) <= 1, 'must be a number from 0 to 1')
    .transform(Number)
    .default(1)
    .describe(
      'The share of requests that are traced, from 0 to 1. It applies to clients that do not decide themselves.',
    ),
}

/** What the variables say; null where there is no collector. */
export function tracingOf(data: z.output<z.ZodObject<typeof tracingSettings>>): TracingConfig | null {
  const endpoint = data.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? data.OTEL_EXPORTER_OTLP_ENDPOINT
  if (endpoint === undefined || data.OTEL_SDK_DISABLED === 'true') return null
  return { sampleRatio: data.OTEL_TRACES_SAMPLER_ARG }
}
