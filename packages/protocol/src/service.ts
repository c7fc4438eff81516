import { z } from 'zod'

/** The answer of `/healthz`. It means that the process responds. */
export const Health = z.object({ status: z.literal('ok').describe('Always `ok`.') }).meta({ id: 'Health' })

/** The answer of `/readyz`: true if runtimes can be made, otherwise the reason. */
export const Readiness = z
  .object({
    status: z.enum(['ready', 'not_ready']).describe('`ready` if the service can create runtimes.'),
    version: z.string().describe('The version of the service.'),
    reasons: z.array(z.string()).describe('The reasons why the service is not ready; empty if it is ready.'),
    isolation: z
      .record(
        z.string(),
        z.object({
          available: z.boolean().describe('True if the service can create runtimes of this class.'),
          reason: z.string().nullable().describe('Why the class is not available; null if it is available.'),
          fix: z.string().nullable().describe('The step that makes it available; null if none is needed or known.'),
        }),
      )
      .describe('The isolation classes, by name.'),
    fallbacks: z
      .array(
        z.object({
          isolation: z.string().describe('The isolation class of the runtimes.'),
          reason: z
            .string()
            .describe(
              'The reason for the cold boot: the checkpoint was `absent`, `incompatible` or `damaged`, or its restore `failed`.',
            ),
          count: z.int().describe('The number of runtimes since the start of the service.'),
        }),
      )
      .optional()
      .describe('Runtimes that booted cold because the checkpoint of their template could not be restored.'),
    retakes: z
      .object({
        waiting: z.int().describe('The number of checkpoints that are still to be taken.'),
        taken: z.int().describe('The number of checkpoints that were taken again and can be restored.'),
        failed: z
          .int()
          .describe('The number of checkpoints that could not be taken. The service tries again at its next start.'),
        unknown: z.int().describe('The number of templates of an earlier Holt version that must be built again.'),
      })
      .optional()
      .describe(
        'Checkpoints of built templates that this host could not restore when the service started, for example after an upgrade of gVisor. The service takes them again. Runtimes of these templates boot cold until then.',
      ),
  })
  .meta({ id: 'Readiness' })
export type Readiness = z.infer<typeof Readiness>
