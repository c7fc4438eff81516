import { z } from 'zod'
import { idSchema } from './ids.ts'
import { pageQuery, Timestamp } from './page.ts'
import { runtimeIdsOfQuery, runtimeStates } from './runtime.ts'

/**
 * The interval at which the service measures runtimes, in seconds. The steps of a window are
 * multiples of it.
 */
export const metricsStepSecs = 10

/** The length of the longest window, in seconds. */
export const metricsKeptSecs = 3600

const windowFields = {
  window_secs: z.coerce
    .number()
    .int()
    .min(0)
    .max(metricsKeptSecs)
    .default(0)
    .describe('The age in seconds of the oldest of the `samples`. Default 0: no samples.'),
  step_secs: z.coerce
    .number()
    .int()
    .min(metricsStepSecs)
    .max(metricsKeptSecs)
    .multipleOf(metricsStepSecs)
    .default(metricsStepSecs)
    .describe(`The time between two samples in seconds, a multiple of ${metricsStepSecs}. Default ${metricsStepSecs}.`),
}

/** The query of a runtime's metrics. */
export const RuntimeMetricsQuery = z.strictObject(windowFields)
export type RuntimeMetricsQuery = z.output<typeof RuntimeMetricsQuery>

/** The query of the metrics of many runtimes. */
export const ListMetricsQuery = z.strictObject({
  ...pageQuery,
  runtime_id: runtimeIdsOfQuery.describe(
    'The runtimes, at most 100, in any state. Repeat the parameter, or separate ids by commas. Unknown ids are left out. Default: all running ones.',
  ),
  ...windowFields,
})
export type ListMetricsQuery = z.output<typeof ListMetricsQuery>

const bytes = z.number().int().min(0)

/** The usage of a runtime at one moment. */
export const RuntimeSample = z
  .object({
    at: Timestamp.describe('When the usage was measured (RFC 3339 UTC with milliseconds).'),
    cpu: z
      .object({
        used_usec: bytes.describe(
          'Processor time in microseconds since the runtime was created or last resumed on this host.',
        ),
        rate: z
          .number()
          .min(0)
          .nullable()
          .describe('The average number of busy vCPUs since the previous sample; null without a previous sample.'),
      })
      .describe('The use of the processor.'),
    memory: z
      .object({ used_bytes: bytes.describe('The memory in use in bytes, without memory that the kernel can reclaim.') })
      .describe('The use of memory.'),
    disk: z
      .object({ used_bytes: bytes.describe('The bytes written to the disk, without the image.') })
      .describe('The use of the disk.'),
    processes: bytes
      .nullable()
      .describe(
        'The number of processes in the runtime. Null in past samples, and while a `gvisor` runtime is stopped.',
      ),
    network: z
      .object({
        sent_bytes: bytes.describe('The bytes that the runtime sent since the runtime or the service last started.'),
        received_bytes: bytes.describe(
          'The bytes that the runtime received since the runtime or the service last started.',
        ),
      })
      .describe('The traffic through the gateway.'),
  })
  .meta({ id: 'RuntimeSample' })
export type RuntimeSample = z.infer<typeof RuntimeSample>

/** The usage of a runtime, measured by the host. */
export const RuntimeMetrics = z
  .object({
    runtime_id: idSchema('runtime').describe('The id of the runtime.'),
    state: z.enum(runtimeStates).describe('The state of the runtime.'),
    limits: z
      .object({
        cpu: z.number().describe('The vCPUs of the runtime.'),
        memory_bytes: bytes.describe('The memory limit in bytes.'),
        disk_bytes: bytes.describe('The disk limit in bytes.'),
      })
      .describe('The limits of the runtime.'),
    now: RuntimeSample.nullable().describe(
      'The current usage; null if the runtime is not on its host, for example while it is paused.',
    ),
    step_secs: z.number().int().describe('The time between two samples in seconds.'),
    samples: z
      .array(RuntimeSample)
      .describe(
        'The samples, oldest first. Times at which the runtime was stopped or paused, or the service did not run, have no sample. Memory is the maximum of a step; the other values are those at its end.',
      ),
  })
  .meta({ id: 'RuntimeMetrics' })
export type RuntimeMetrics = z.infer<typeof RuntimeMetrics>
