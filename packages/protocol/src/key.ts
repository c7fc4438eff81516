import { z } from 'zod'
import { idSchema } from './ids.ts'
import { Name } from './name.ts'
import { Timestamp } from './page.ts'
import { Quotas, QuotaUse } from './project.ts'
import { Text } from './text.ts'

/**
 * The scopes of a key. `admin` allows everything in its project. `operator` allows everything about
 * the installation: its projects, their quotas, its metrics.
 */
export const scopes = [
  'runtime:read',
  'runtime:write',
  'template:read',
  'template:write',
  'policy:read',
  'policy:write',
  'secret:read',
  'secret:write',
  'event:read',
  'webhook:read',
  'webhook:write',
  'admin',
  'operator',
] as const

/** One scope of a key. */
export type Scope = (typeof scopes)[number]

/** The body of a new key. */
export const CreateKey = z
  .strictObject({
    name: Text.trim().min(1).max(100).describe('What the key is for, in 1 to 100 characters.'),
    scopes: z
      .array(z.enum(scopes))
      .min(1)
      .default(['runtime:read', 'runtime:write', 'template:read', 'policy:read', 'secret:read', 'event:read'])
      .describe('What the key may do. Default: everything in runtimes, and reading of the rest.'),
    expires_at: z.iso
      .datetime({ offset: true })
      .nullable()
      .default(null)
      .describe('When it stops opening the service (RFC 3339). Default null: never.'),
    project: Text.min(1)
      .max(63)
      .optional()
      .describe('Name or id of the project it opens; another one than that of the key that makes it needs `operator`.'),
  })
  .meta({ id: 'CreateKey' })
export type CreateKeyInput = z.input<typeof CreateKey>

/** A key without its secret. */
export const Key = z
  .object({
    key_id: idSchema('key').describe('The id of the key.'),
    project_id: idSchema('project').describe('The project that it opens.'),
    name: z.string().describe('What the key is for.'),
    prefix: z.string().describe('The first characters of the secret, to recognise it.'),
    scopes: z.array(z.enum(scopes)).describe('What the key may do.'),
    expires_at: Timestamp.nullable().describe(
      'When it stops opening the service (RFC 3339 UTC with milliseconds); null: never.',
    ),
    created_at: Timestamp.describe('When it was made (RFC 3339 UTC with milliseconds).'),
    last_used_at: Timestamp.nullable().describe('Written at most once a minute.'),
    rotated_at: Timestamp.nullable().describe('When it got the secret that it has.'),
    previous_until: Timestamp.nullable().describe('Until when the secret before that opens the service as well.'),
  })
  .meta({ id: 'Key' })
export type Key = z.infer<typeof Key>

/** A key with its secret, which is shown only once. */
export const NewKey = Key.extend({ key: z.string().describe('The secret. It is shown once.') }).meta({ id: 'NewKey' })
export type NewKey = z.infer<typeof NewKey>

/**
 * The time for which the earlier secret of a rotated key stays valid. Handing out another takes a
 * day at most, and a month is generous.
 */
const overlap = { defaultSecs: 3600, maxSecs: 30 * 24 * 3600 }

/** The body of a rotation. */
export const RotateKey = z
  .strictObject({
    overlap_secs: z
      .number()
      .int()
      .min(0)
      .max(overlap.maxSecs)
      .default(overlap.defaultSecs)
      .describe('How long the secret that it has now goes on opening the service. 0 ends it at once.'),
  })
  .meta({ id: 'RotateKey' })
export type RotateKeyInput = z.input<typeof RotateKey>

/** The identity of a caller: the key, its project, its quotas and their use. */
export const Identity = z
  .object({
    key: Key.describe('The key of this request.'),
    project: z
      .object({
        project_id: idSchema('project').describe('The id of the project.'),
        name: Name.describe('The name of the project.'),
      })
      .describe('The project of the key.'),
    quotas: Quotas.describe('The limits of the project.'),
    use: QuotaUse.describe('What the project uses now.'),
  })
  .meta({ id: 'Identity' })
export type Identity = z.infer<typeof Identity>
