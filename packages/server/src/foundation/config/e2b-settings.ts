import { z } from 'zod'

/** The settings of the entry for E2B's clients. */
export interface E2bConfig {
  /** The domain of domain mode, and the port that clients add to it. Null: there is none. */
  readonly domain: { readonly name: string; readonly port: number | null } | null
}

const name = /^(?=.{1,200}$)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/

const domain = z.string().transform((text, context): E2bConfig['domain'] => {
  const [, given = '', port] = /^([^:]*)(?::(\d{1,5}))?$/.exec(text.toLowerCase()) ?? []
  if (name.test(given) && Number(port ?? 1) >= 1 && Number(port ?? 1) <= 65_535)
    return { name: given, port: port === undefined ? null : Number(port) }
  context.addIssue({
    code: 'custom',
    message: 'must be a domain, with a port if clients need one: holt.example.com, holt.localhost:8443',
  })
  return z.NEVER
})

/** The schemas of the settings of E2B's clients, by name. */
export const e2bSettings = {
  HOLT_E2B: z
    .enum(['on', 'off'], 'must be on or off')
    .default('off')
    .describe("`on` lets programs that are written for E2B use this service with E2B's own packages."),
  HOLT_E2B_DOMAIN: domain
    .optional()
    .describe(
      'The domain for `E2B_DOMAIN` of the clients: `holt.example.com`, or `holt.localhost:8443`. The service answers as `api.DOMAIN` and `PORT-RUNTIME.DOMAIN`. Without it, clients use one address for everything.',
    ),
}

/** Returns the configuration of the entry for E2B's clients. Returns null if it is off. */
export function e2bOf(data: z.output<z.ZodObject<typeof e2bSettings>>): E2bConfig | null {
  return data.HOLT_E2B === 'off' ? null : { domain: data.HOLT_E2B_DOMAIN ?? null }
}
