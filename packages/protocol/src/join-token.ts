import { z } from 'zod'
import { idSchema } from './ids.ts'
import { Timestamp } from './page.ts'

/**
 * The validity of a join token. An hour is enough to start workers by hand. A month is for
 * machines that start by themselves.
 */
const validity = { defaultSecs: 3600, maxSecs: 30 * 24 * 3600 }

/** The body of a new join token. */
export const CreateJoinToken = z
  .strictObject({
    ttl_secs: z
      .int()
      .min(1)
      .max(validity.maxSecs)
      .default(validity.defaultSecs)
      .describe('The seconds for which workers can join with the token, at most 30 days. Default 3600.'),
    once: z.boolean().default(false).describe('True: the first join uses the token up. Default false.'),
  })
  .meta({ id: 'CreateJoinToken' })
export type CreateJoinTokenInput = z.input<typeof CreateJoinToken>

/** A token with which workers join a fleet, without its secret. */
export const JoinToken = z
  .object({
    token_id: idSchema('join_token').describe('The id of the token.'),
    created_at: Timestamp.describe('When the token was made (RFC 3339 UTC with milliseconds).'),
    expires_at: Timestamp.describe('When the token ends (RFC 3339 UTC with milliseconds).'),
    once: z.boolean().describe('True if the first join uses the token up.'),
    uses: z.int().describe('The number of joins with the token.'),
  })
  .meta({ id: 'JoinToken' })
export type JoinToken = z.infer<typeof JoinToken>

/** A join token with its text, which is shown only once. */
export const NewJoinToken = JoinToken.extend({
  token: z
    .string()
    .describe(
      'The text for `HOLT_JOIN_TOKEN_FILE` of a worker: the certificate of the fleet, the addresses of hosts, and a secret. It is shown once.',
    ),
}).meta({ id: 'NewJoinToken' })
export type NewJoinToken = z.infer<typeof NewJoinToken>
