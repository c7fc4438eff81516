import { Readable } from 'node:stream'
import type { Handlers } from '../api.ts'

/** The route of the metrics. */
export const metricsHandlers = {
  metrics: async ({ service: { metrics } }) => ({
    status: 200,
    bytes: Readable.from([Buffer.from(await metrics.text())]),
    headers: { 'content-type': metrics.contentType },
  }),
} satisfies Partial<Handlers>
