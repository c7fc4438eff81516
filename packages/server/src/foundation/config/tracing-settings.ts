import { z } from 'zod'

/** The settings of traces. */
export interface TracingConfig {
  /** The share of requests that are traced if their client does not decide. */
  readonly sampleRatio: number
}

const endpoint = z
  .string()
  .refine((text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol), 'must be an http address')
  .optional()

/**
 * The variables of OpenTelemetry itself
 * (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/). Its library
 * reads those about the connection to the collector.
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

/** Returns the configuration of traces; null if there is no collector or traces are off. */
export function tracingOf(data: z.output<z.ZodObject<typeof tracingSettings>>): TracingConfig | null {
  const endpoint = data.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? data.OTEL_EXPORTER_OTLP_ENDPOINT
  if (endpoint === undefined || data.OTEL_SDK_DISABLED === 'true') return null
  return { sampleRatio: data.OTEL_TRACES_SAMPLER_ARG }
}
