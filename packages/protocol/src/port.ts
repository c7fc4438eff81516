import { z } from 'zod'
import { idSchema } from './ids.ts'
import { Timestamp } from './page.ts'

/** A port as text. It has one form: decimal digits without a sign or leading zeros, 1 to 65535. */
export const PortNumber = z
  .string()
  .regex(/^[1-9][0-9]{0,4}$/, 'must be a port: 1 to 65535, in digits without a sign or leading zeros')
  .transform(Number)
  .refine((port) => port <= 65_535, 'must be at most 65535')

/** The query of a port. */
export const PortQuery = z.strictObject({
  wait_secs: z.coerce
    .number()
    .min(0)
    .max(600)
    .default(0)
    .describe('How long to wait until something listens on the port. When nothing does by then, `listening` is false.'),
  expires_in_secs: z.coerce
    .number()
    .int()
    .min(1)
    .max(30 * 24 * 3600)
    .default(24 * 3600)
    .describe('How long the token is valid.'),
})

/** The body of a change to a port. */
export const UpdatePort = z
  .strictObject({ public: z.boolean().describe('Whether anyone who knows the address gets in without a token.') })
  .meta({ id: 'UpdatePort' })
export type UpdatePortInput = z.input<typeof UpdatePort>

const state = {
  port: z.number().int().min(1).max(65_535).describe('The port inside the runtime, 1 to 65535.'),
  public: z.boolean().describe('Anyone who knows the address gets in.'),
  listening: z.boolean().describe('Something listens on it now.'),
}

/** A port in a list. */
export const PortState = z.object(state).meta({ id: 'PortState' })
export type PortState = z.infer<typeof PortState>

/** A port with its addresses and access. */
export const Port = z
  .object({
    runtime_id: idSchema('runtime').describe('The id of the runtime.'),
    ...state,
    url: z
      .string()
      .describe(
        'The host form: an origin of its own, for browsers and curl. Private: add the token. Node and Python do not resolve it: use `path_url`.',
      ),
    path_url: z.string().describe('The path form, below the address of the service; an API key opens it as well.'),
    token: z.string().describe('Opens this port: as the header `X-Holt-Port-Token`, or in the query as `holt_token`.'),
    expires_at: Timestamp.describe(
      'When the token stops opening it. It also does when it is rotated or its key revoked.',
    ),
  })
  .meta({ id: 'Port' })
export type Port = z.infer<typeof Port>

/** The header that carries a port's token. */
export const portTokenHeader = 'x-holt-port-token'

/** The query field that carries a port's token. */
export const portTokenField = 'holt_token'
