import { z } from 'zod'
import { idSchema } from './ids.ts'
import { Timestamp } from './page.ts'

/** What a key may do. `admin` may do everything. */
export const scopes = [
  'runtime:read',
  'runtime:write',
  'template:read',
  'template:write',
  'policy:read',
  'policy:write',
  'secret:read',
  'secret:write',
  'admin',
] as const

/** One thing a key may do. */
export type Scope = (typeof scopes)[number]

/** The body of a new key. */
export const CreateKey = z
  .strictObject({
    name: z.string().trim().min(1).max(100),
    scopes: z
      .array(z.enum(scopes))
      .min(1)
      .default(['runtime:read', 'runtime:write', 'template:read', 'policy:read', 'secret:read']),
    expires_at: z.iso.datetime({ offset: true }).nullable().default(null),
  })
  .meta({ id: 'CreateKey' })
export type CreateKeyInput = z.input<typeof CreateKey>

/** A key without its secret. */
export const Key = z
  .object({
    key_id: idSchema('key'),
    name: z.string(),
    prefix: z.string().describe('The first characters of the secret, to recognise it.'),
    scopes: z.array(z.enum(scopes)),
    expires_at: Timestamp.nullable(),
    created_at: Timestamp,
    last_used_at: Timestamp.nullable(),
  })
  .meta({ id: 'Key' })
export type Key = z.infer<typeof Key>

/** A key at the one time its secret is shown. */
export const NewKey = Key.extend({ key: z.string().describe('The secret. It is shown once.') }).meta({ id: 'NewKey' })
export type NewKey = z.infer<typeof NewKey>
