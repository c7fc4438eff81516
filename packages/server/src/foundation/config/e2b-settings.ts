import { z } from 'zod'

/** The settings of the entry for E2B's clients. */
export interface E2bConfig {
  /** The domain of domain mode, and the port that clients add to it. Null: there is none. */
  readonly domain: { readonly name: string; readonly port: number | null } | null
  /** The domain in answers, which clients then use for the names of sandboxes. Null: their own. */
  readonly sandboxDomain: string | null
  /** The hosts that sandboxes reach. */
  readonly egress: 'deny' | 'request' | 'open'
  /** The policy of sandboxes that reach the Internet. Null: every public host. */
  readonly internetPolicy: string | null
  /** The template that clients call `base`. */
  readonly base: string
  /** The life of a sandbox whose create names none, in seconds. */
  readonly defaultTimeoutSecs: number
  /** False: the ports of every new sandbox need its traffic token. */
  readonly publicPorts: boolean
  /** True: the tokens of a sandbox outlive the key that made it. */
  readonly keepTokens: boolean
  /** The origins whose web pages may use the control plane, commands and files. */
  readonly origins: readonly string[]
}

const name = /^(?=.{1,200}$)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/

/** Origins as browsers send them: without a path, and without the usual port. */
const origins = z.string().transform((text, context): readonly string[] => {
  const all = text.split(',').map((part) => part.trim())
  const wrong = all.find((one) => !/^https?:/.test(one) || !URL.canParse(one) || new URL(one).origin !== one)
  if (wrong === undefined) return [...new Set(all)]
  context.addIssue({ code: 'custom', message: 'must be origins with commas between: https://app.example.com' })
  return z.NEVER
})

const domain = z.string().transform((text, context): NonNullable<E2bConfig['domain']> => {
  const [, given = '', port] = /^([^:]*)(?::(\d{1,5}))?$/.exec(text.toLowerCase()) ?? []
  if (name.test(given) && Number(port ?? 1) >= 1 && Number(port ?? 1) <= 65_535)
    return { name: given, port: port === undefined ? null : Number(port) }
  context.addIssue({
    code: 'custom',
    message: 'must be a domain, with a port if clients need one: holt.example.com, holt.localhost:8443',
  })
  return z.NEVER
})

const onOrOff = z.enum(['on', 'off'], 'must be on or off')

/** The schemas of the settings of E2B's clients, by name. */
export const e2bSettings = {
  HOLT_E2B: onOrOff
    .default('off')
    .describe("`on` lets programs that are written for E2B use this service with E2B's own packages."),
  HOLT_E2B_DOMAIN: domain
    .optional()
    .describe(
      'The domain for `E2B_DOMAIN` of the clients: `holt.example.com`, or `holt.localhost:8443`. The service answers as `api.DOMAIN` and `PORT-RUNTIME.DOMAIN`. Without it, clients use one address for everything.',
    ),
  HOLT_E2B_SANDBOX_DOMAIN: domain
    .optional()
    .describe('Another domain for the names of sandboxes, which clients follow. Without it, they use their own.'),
  HOLT_E2B_EGRESS: z
    .enum(['deny', 'request', 'open'], 'must be deny, request or open')
    .default('request')
    .describe(
      "The hosts that sandboxes of E2B's clients reach. `deny`: none. `request`: those that the create or an update asks for. `open`: every public host, unless the create says no. Old clients ask for the Internet with each create.",
    ),
  HOLT_E2B_INTERNET_POLICY: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'must be the name of a network policy')
    .optional()
    .describe(
      'The network policy for a sandbox that asks for the Internet. Each project needs one of that name. Without it, such a sandbox reaches every public host.',
    ),
  HOLT_E2B_BASE: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,62}(?::[A-Za-z0-9_.-]{1,128})?$/, 'must be the name of a template')
    .default('base-small')
    .describe('The template that clients get as `base`.'),
  HOLT_E2B_DEFAULT_TIMEOUT: z
    .string()
    .regex(/^[1-9]\d{0,6}$/, 'must be a whole number of seconds')
    .transform(Number)
    .refine((value) => value <= 2_592_000, 'must be at most 2592000')
    .default(300)
    .describe('The life of a sandbox whose create names none, in seconds. The sandbox ends after it.'),
  HOLT_E2B_PUBLIC_PORTS: onOrOff
    .default('on')
    .describe("`off` protects the ports of new sandboxes with a token, which E2B's clients send by themselves."),
  HOLT_E2B_KEEP_TOKENS: onOrOff
    .default('off')
    .describe(
      '`on` keeps the tokens of a sandbox valid when the key that made it is revoked, expires or gets another secret. Otherwise they end with the key.',
    ),
  HOLT_E2B_ORIGINS: origins
    .default([])
    .describe(
      'The origins whose web pages may use the control plane, commands and files, separated by commas: `https://app.example.com`. The pages need a key or a token as every client. Without it, no page of another origin may.',
    ),
}

/** Returns the configuration of the entry for E2B's clients. Returns null if it is off. */
export function e2bOf(data: z.output<z.ZodObject<typeof e2bSettings>>): E2bConfig | null {
  if (data.HOLT_E2B === 'off') return null
  const { HOLT_E2B_SANDBOX_DOMAIN: moved } = data
  return {
    domain: data.HOLT_E2B_DOMAIN ?? null,
    sandboxDomain: moved === undefined ? null : moved.port === null ? moved.name : `${moved.name}:${moved.port}`,
    egress: data.HOLT_E2B_EGRESS,
    internetPolicy: data.HOLT_E2B_INTERNET_POLICY ?? null,
    base: data.HOLT_E2B_BASE,
    defaultTimeoutSecs: data.HOLT_E2B_DEFAULT_TIMEOUT,
    publicPorts: data.HOLT_E2B_PUBLIC_PORTS === 'on',
    keepTokens: data.HOLT_E2B_KEEP_TOKENS === 'on',
    origins: data.HOLT_E2B_ORIGINS,
  }
}
