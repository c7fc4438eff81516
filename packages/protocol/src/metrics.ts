import { z } from 'zod'
import { idSchema } from './ids.ts'
import { Timestamp } from './page.ts'
import { runtimeStates } from './runtime.ts'

/**
 * The interval at which the service measures runtimes, in seconds. The steps of a window are
 * multiples of it.
 */
export const metricsStepSecs = 10

/** The length of the longest window, in seconds. */
export const metricsKeptSecs = 3600

/** The query of a runtime's metrics. */
export const RuntimeMetricsQuery = z.strictObject({
  window_secs: z.coerce
    .number()
    .int()
    .min(0)
    .max(metricsKeptSecs)
    .default(0)
    .describe('How far back `samples` reach; 0: there are none.'),
  step_secs: z.coerce
    .number()
    .int()
    .min(metricsStepSecs)
    .max(metricsKeptSecs)
    .multipleOf(metricsStepSecs)
    .default(metricsStepSecs)
    .describe(`The time from one sample to the next, a multiple of ${metricsStepSecs}.`),
})
export type RuntimeMetricsQuery = z.output<typeof RuntimeMetricsQuery>

const bytes = z.number().int().min(0)

/** The usage of a runtime at one moment. */
export const RuntimeSample = z
  .object({
    at: Timestamp.describe('When it was measured (RFC 3339 UTC with milliseconds).'),
    cpu: z
      .object({
        used_usec: bytes.describe(
          'Processor time in microseconds since the runtime came to its host: since it was made, or resumed last.',
        ),
        rate: z
          .number()
          .min(0)
          .nullable()
          .describe('vCPUs that were busy, on average since the sample before; null where there is none.'),
      })
      .describe('Use of the processor.'),
    memory: z
      .object({ used_bytes: bytes.describe('Bytes in use, without what the kernel could give back.') })
      .describe('Use of memory.'),
    disk: z.object({ used_bytes: bytes.describe('Bytes written since its image.') }).describe('Use of the disk.'),
    processes: bytes
      .nullable()
      .describe(
        'Processes inside. Null where nobody could be asked: in samples of the past, and while a runtime of `gvisor` stands still.',
      ),
    network: z
      .object({
        sent_bytes: bytes.describe('Bytes out of the runtime, since the service or the runtime was started.'),
        received_bytes: bytes.describe('Bytes into the runtime, since the service or the runtime was started.'),
      })
      .describe('Traffic through the gateway.'),
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
        cpu: z.number().describe('vCPUs.'),
        memory_bytes: bytes.describe('The most bytes of memory.'),
        disk_bytes: bytes.describe('The most bytes on its disk.'),
      })
      .describe('The size of the runtime.'),
    now: RuntimeSample.nullable().describe('Null where the runtime is not on its host, as one that is paused.'),
    step_secs: z.number().int().describe('Seconds from one sample to the next.'),
    samples: z
      .array(RuntimeSample)
      .describe(
        'Oldest first. There is none for a time at which the runtime stood still, was paused, or the service did not run. Memory is the most of a step, the rest as it was at its end.',
      ),
  })
  .meta({ id: 'RuntimeMetrics' })
export type RuntimeMetrics = z.infer<typeof RuntimeMetrics>
