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
    name: Text.trim().min(1).max(100).describe('A name that says what the key is for, 1 to 100 characters.'),
    scopes: z
      .array(z.enum(scopes))
      .min(1)
      .default(['runtime:read', 'runtime:write', 'template:read', 'policy:read', 'secret:read', 'event:read'])
      .describe(
        'The scopes of the key. Default: `runtime:read`, `runtime:write` and the read scopes of templates, policies, secrets and events.',
      ),
    expires_at: z.iso
      .datetime({ offset: true })
      .nullable()
      .default(null)
      .describe('When the key expires (RFC 3339). Default null: never.'),
    format: z
      .enum(['holt', 'e2b'])
      .default('holt')
      .describe(
        'The form of the secret, which a rotation keeps. `holt`: `holt_` and 40 characters. `e2b`: `e2b_` and 40 hexadecimal digits, as clients of E2B want it. Default `holt`.',
      ),
    project: Text.min(1)
      .max(63)
      .optional()
      .describe(
        'The project of the key, by name or id. A project other than that of the calling key needs the scope `operator`. Default: the project of the calling key.',
      ),
  })
  .meta({ id: 'CreateKey' })
export type CreateKeyInput = z.input<typeof CreateKey>

/** A key without its secret. */
export const Key = z
  .object({
    key_id: idSchema('key').describe('The id of the key.'),
    project_id: idSchema('project').describe('The project of the key.'),
    name: z.string().describe('The name that says what the key is for.'),
    prefix: z.string().describe('The first characters of the secret, to identify the key.'),
    scopes: z.array(z.enum(scopes)).describe('The scopes of the key.'),
    expires_at: Timestamp.nullable().describe('When the key expires (RFC 3339 UTC with milliseconds); null: never.'),
    created_at: Timestamp.describe('When the key was created (RFC 3339 UTC with milliseconds).'),
    last_used_at: Timestamp.nullable().describe(
      'When the key was last used (RFC 3339 UTC with milliseconds); null if never. It is updated at most once a minute.',
    ),
    rotated_at: Timestamp.nullable().describe(
      'When the secret was last rotated (RFC 3339 UTC with milliseconds); null if never.',
    ),
    previous_until: Timestamp.nullable().describe(
      'Until when the previous secret also works (RFC 3339 UTC with milliseconds); null if it does not work.',
    ),
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
      .describe('The seconds for which the previous secret also works. 0: it stops at once. Default 3600.'),
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
    use: QuotaUse.describe('The current use of the project.'),
  })
  .meta({ id: 'Identity' })
export type Identity = z.infer<typeof Identity>
