import { z } from 'zod'

/** The answer of `/healthz`. It means that the process responds. */
export const Health = z.object({ status: z.literal('ok').describe('Always `ok`.') }).meta({ id: 'Health' })

/** The answer of `/readyz`: true if runtimes can be made, otherwise the reason. */
export const Readiness = z
  .object({
    status: z.enum(['ready', 'not_ready']).describe('`ready` if runtimes can be made.'),
    version: z.string().describe('The version of the service.'),
    reasons: z.array(z.string()).describe('What is missing; empty when ready.'),
    isolation: z
      .record(
        z.string(),
        z.object({
          available: z.boolean().describe('True if runtimes of this class can be made.'),
          reason: z.string().nullable().describe('Why it is not available; null where it is.'),
          fix: z.string().nullable().describe('What to do about it; null where nothing is needed or known.'),
        }),
      )
      .describe('The classes of isolation, by name.'),
    fallbacks: z
      .array(
        z.object({
          isolation: z.string().describe('The class of the runtimes.'),
          reason: z.string().describe('`absent`, `incompatible`, `damaged` or `failed`.'),
          count: z.int().describe('The number of runtimes since the start of the service.'),
        }),
      )
      .optional()
      .describe('Runtimes that were booted cold because the checkpoint of their template could not be restored.'),
    retakes: z
      .object({
        waiting: z.int().describe('Checkpoints that are not taken yet.'),
        taken: z.int().describe('Checkpoints that runtimes are restored from again.'),
        failed: z.int().describe('Checkpoints that could not be taken. The next start tries again.'),
        unknown: z.int().describe('Templates of an earlier version of Holt that have to be built again.'),
      })
      .optional()
      .describe(
        'Checkpoints of built templates that this host could not restore when the service started, for example after an upgrade of gVisor. The service takes them again. Runtimes of these templates boot cold until then.',
      ),
  })
  .meta({ id: 'Readiness' })
export type Readiness = z.infer<typeof Readiness>
