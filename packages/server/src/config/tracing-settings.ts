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

/** OpenTelemetry's own variables (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/); its library reads those about the way to the collector itself. */
export const tracingSettings = {
  OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: endpoint,
  OTEL_SDK_DISABLED: z.string().optional(),
  OTEL_TRACES_SAMPLER_ARG: z
    .string()
    .refine((text) => Number(text) >= 0 && Number(text) <= 1, 'must be a number from 0 to 1')
    .transform(Number)
    .default(1),
}

/** What the variables say; null where there is no collector. */
export function tracingOf(data: z.output<z.ZodObject<typeof tracingSettings>>): TracingConfig | null {
  const endpoint = data.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? data.OTEL_EXPORTER_OTLP_ENDPOINT
  if (endpoint === undefined || data.OTEL_SDK_DISABLED === 'true') return null
  return { sampleRatio: data.OTEL_TRACES_SAMPLER_ARG }
}
