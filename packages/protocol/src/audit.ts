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
        'The kind of call. `change`: changed what the service stores. `inside`: worked inside a runtime. `auth_failed`: calls without a valid key.',
      ),
    at: Timestamp.describe(
      'When the call began (RFC 3339 UTC with milliseconds). Entries are written when calls end, so this can be out of order.',
    ),
    project_id: idSchema('project').nullable().describe('The project of the call; null if it belongs to no project.'),
    key: z
      .object({
        key_id: idSchema('key').describe('The id of the key.'),
        name: z.string().describe('The name of the key at the time of the call.'),
      })
      .nullable()
      .describe('The key that the call used; null for calls without a valid key.'),
    address: z
      .string()
      .describe(
        'The client address of the connection. It is `operator` if an operator of another project made the call.',
      ),
    route: z
      .string()
      .nullable()
      .describe(
        'The called route by its `operationId` in the OpenAPI description, such as `createRuntime`; null if no route matched.',
      ),
    params: z.record(z.string(), z.string()).describe('The path parameters of the call, by name.'),
    subject_id: z
      .string()
      .nullable()
      .describe(
        'The resource that the call created, changed or removed; null if there is none. It is an id if the resource was found, else the text of the call.',
      ),
    status: z
      .number()
      .int()
      .nullable()
      .describe(
        'The HTTP status of the answer. Null: the call is in progress, or the service or the client ended before the answer.',
      ),
    request_id: z
      .string()
      .nullable()
      .describe('The id of the request, as in `X-Request-Id`; null if the call had none.'),
    count: z.number().int().describe('The number of calls that this entry stands for.'),
    last_at: Timestamp.describe('When the call ended, or the last of `count` calls (RFC 3339 UTC with milliseconds).'),
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
  key_id: Text.max(100).optional().describe('Only calls with this key.'),
  route: Text.max(100).optional().describe('Only calls of this route, by its `operationId`.'),
  subject: Text.max(200)
    .optional()
    .describe('Only calls on the resource with this id or name. For a runtime, this includes its commands and files.'),
  since: z.iso.datetime({ offset: true }).optional().describe('Only entries from this time on (RFC 3339).'),
  until: z.iso.datetime({ offset: true }).optional().describe('Only entries before this time (RFC 3339).'),
})
export type ListAuditQuery = z.output<typeof ListAuditQuery>

/**
 * The days for which entries are kept, and the most entries of each kind in a project: the newest.
 */
export const keptAudit = { days: 400, change: 5_000_000, inside: 1_000_000, auth_failed: 100_000 } as const
