import { z } from 'zod'
import { buildStatuses } from './build.ts'
import { Timestamp } from './page.ts'

/** A line of a build's log. */
export const BuildLogLine = z.object({
  type: z.literal('log').describe('A line of the build log.'),
  cursor: z.number().int().describe('The position of this item. To resume after it, send it as `?cursor=`.'),
  at: Timestamp.describe('When the line was written (RFC 3339 UTC with milliseconds).'),
  level: z.enum(['debug', 'info', 'warn', 'error']).describe('The severity. Output of steps is `info`.'),
  step: z
    .number()
    .int()
    .nullable()
    .describe('The step that wrote the line, from 1; null if the build itself wrote it.'),
  message: z.string().describe('The text of the line, without its line break.'),
})
export type BuildLogLine = z.infer<typeof BuildLogLine>

/** An item of a build's log. `end` follows when the build has ended and all lines were read. */
export const BuildLogItem = z
  .discriminatedUnion('type', [
    BuildLogLine,
    z.object({
      type: z.literal('gap').describe('Lines were lost before the cursor.'),
      cursor: z.number().int().describe('The position of this item. To resume after it, send it as `?cursor=`.'),
      lost: z.number().int().describe('The number of lost lines.'),
    }),
    z.object({
      type: z.literal('end').describe('The last item: the build has ended, and every line was sent.'),
      cursor: z.number().int().describe('The position of this item. To resume after it, send it as `?cursor=`.'),
      status: z.enum(buildStatuses).describe('The final status of the build.'),
    }),
  ])
  .meta({ id: 'BuildLogItem' })
export type BuildLogItem = z.infer<typeof BuildLogItem>
