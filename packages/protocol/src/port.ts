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
    .describe(
      'The seconds to wait for a server on the port. If there is none by then, `listening` is false. Default 0: no wait.',
    ),
  expires_in_secs: z.coerce
    .number()
    .int()
    .min(1)
    .max(30 * 24 * 3600)
    .default(24 * 3600)
    .describe('The lifetime of the token in seconds. Default 86,400.'),
  once: z
    .enum(['true', 'false', '1', '0'])
    .default('false')
    .describe(
      'True: the token admits one request within a minute, for an address that a browser opens. The browser gets a cookie for `expires_in_secs`. Default false.',
    ),
})

/** The body of a change to a port. */
export const UpdatePort = z
  .strictObject({ public: z.boolean().describe('True: anyone who knows the address can connect without a token.') })
  .meta({ id: 'UpdatePort' })
export type UpdatePortInput = z.input<typeof UpdatePort>

const state = {
  port: z.number().int().min(1).max(65_535).describe('The port inside the runtime, 1 to 65535.'),
  public: z.boolean().describe('True if anyone who knows the address can connect without a token.'),
  listening: z.boolean().describe('True if a server listens on the port now.'),
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
        'The address with the port in its host name, which is an origin of its own. For browsers and curl; Node and Python do not resolve it, so use `path_url` there. A private port needs the token.',
      ),
    path_url: z
      .string()
      .describe(
        'The address with the port in its path, below the address of the service. A private port needs the token or an API key.',
      ),
    token: z
      .string()
      .describe(
        'The token for this port. Send it as the header `X-Holt-Port-Token` or as the query parameter `holt_token`.',
      ),
    expires_at: Timestamp.describe(
      'When the token expires (RFC 3339 UTC with milliseconds). It expires earlier if it is rotated, its key is revoked, or it is for one request.',
    ),
  })
  .meta({ id: 'Port' })
export type Port = z.infer<typeof Port>

/** The header that carries a port's token. */
export const portTokenHeader = 'x-holt-port-token'

/** The query field that carries a port's token. */
export const portTokenField = 'holt_token'
