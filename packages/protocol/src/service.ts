import { z } from 'zod'

/** The answer of `/healthz`: the process answers. */
export const Health = z.object({ status: z.literal('ok') }).meta({ id: 'Health' })

/** The answer of `/readyz`: whether runtimes can be made, and if not, why. */
export const Readiness = z
  .object({
    status: z.enum(['ready', 'not_ready']),
    version: z.string(),
    reasons: z.array(z.string()).describe('What is missing; empty when ready.'),
    isolation: z.record(
      z.string(),
      z.object({ available: z.boolean(), reason: z.string().nullable(), fix: z.string().nullable() }),
    ),
  })
  .meta({ id: 'Readiness' })
export type Readiness = z.infer<typeof Readiness>
