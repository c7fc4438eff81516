import { z } from 'zod'
import { idSchema } from './ids.ts'
import { pageQuery, Timestamp } from './page.ts'
import { Text } from './text.ts'

/**
 * The kinds of entries. `change`: a change of stored state. `inside`: an action inside a runtime
 * (commands, files, ports). `auth_failed`: calls without a valid key, counted together by address
 * and minute.
 */
export const auditKinds = ['change', 'inside', 'auth_failed'] as const

/**
 * An entry of the audit log: the actor, the action, the key and the address. Entries cannot be
 * changed, and contain no bodies or secrets.
 */
export const AuditEntry = z
  .object({
    audit_id: idSchema('audit').describe('The id of the entry.'),
    kind: z
      .enum(auditKinds)
      .describe(
        '`change`: of what the service keeps. `inside`: in a runtime. `auth_failed`: calls without a valid key.',
      ),
    at: Timestamp.describe('When the call began. Entries are in the order in which they were written, a little later.'),
    project_id: idSchema('project').nullable().describe('Null: of no project.'),
    key: z
      .object({
        key_id: idSchema('key').describe('The id of the key.'),
        name: z.string().describe('The name that the key had at the time.'),
      })
      .nullable()
      .describe('Which key, by its name then.'),
    address: z
      .string()
      .describe(
        "The address that the connection came from; `operator` (and no key) in a project's log of what an operator of another project did to it.",
      ),
    route: z.string().nullable().describe('What was called, by its name in the OpenAPI description: `createRuntime`.'),
    params: z.record(z.string(), z.string()).describe('What was named in the path.'),
    subject_id: z
      .string()
      .nullable()
      .describe('What was made, changed or removed, or would have been: by its id where it was found.'),
    status: z
      .number()
      .int()
      .nullable()
      .describe('The HTTP status of the answer; null: under way, or the service or the client was gone before.'),
    request_id: z
      .string()
      .nullable()
      .describe('The id of the request, as in `X-Request-Id`; null where there was none.'),
    count: z.number().int().describe('How many calls it stands for.'),
    last_at: Timestamp.describe('When it ended, or the last of several.'),
  })
  .meta({ id: 'AuditEntry' })
export type AuditEntry = z.infer<typeof AuditEntry>

/** The query of the audit log. */
export const ListAuditQuery = z.strictObject({
  ...pageQuery,
  project: Text.max(100)
    .optional()
    .describe(
      'The id or the name of a project, or `all`; needs the scope `operator`. Default: the project of the key.',
    ),
  kind: z.enum(auditKinds).optional().describe('Only entries of this kind.'),
  key_id: Text.max(100).optional().describe('Only what was done with this key.'),
  route: Text.max(100).optional().describe('Only calls of this route.'),
  subject: Text.max(200)
    .optional()
    .describe(
      'Only what was done to the thing with this id or name, or inside it: the commands and files of a runtime.',
    ),
  since: z.iso.datetime({ offset: true }).optional().describe('Only entries from this time on (RFC 3339).'),
  until: z.iso.datetime({ offset: true }).optional().describe('Only entries before this time (RFC 3339).'),
})
export type ListAuditQuery = z.output<typeof ListAuditQuery>

/**
 * The days for which entries are kept, and the most entries of each kind in a project: the newest.
 */
export const keptAudit = { days: 400, change: 5_000_000, inside: 1_000_000, auth_failed: 100_000 } as const
