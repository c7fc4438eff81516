import { z } from 'zod'
import { hopByHopHeaders } from './hop-by-hop.ts'
import { idSchema } from './ids.ts'
import { ifSound } from './if-sound.ts'
import { nameBesideId } from './name.ts'
import { hostForm } from './network-policy.ts'
import { Timestamp } from './page.ts'
import { secretDefaults } from './secret-defaults.ts'

/** The most bytes of a secret's value. A header must fit a server's limit on headers. */
export const maxSecretBytes = 8192

/**
 * The least length in characters of a value that is masked in answers of its hosts. A mask confirms
 * a guess, and shorter values can be guessed.
 */
export const minRedactedSecretLength = 16

/** The part of a format that the value replaces. */
const valueMark = '{value}'

/**
 * The headers that control the transport of a request (RFC 9110, 7.6.1) or its destination. Only
 * the gateway sets them.
 */
const transportHeaders: ReadonlySet<string> = new Set([
  ...hopByHopHeaders,
  'content-length',
  'expect',
  'host',
  'trailer',
])

const SecretHost = z
  .string()
  .max(255)
  .transform((text) => text.toLowerCase())
  .refine(
    (host) => ['name', 'suffix'].includes(hostForm(host) ?? ''),
    'must be a host name such as api.example.com, or *.example.com for any name below it',
  )

const HeaderName = z
  .string()
  .max(128)
  .transform((text) => text.toLowerCase())
  .refine((name) => /^[a-z0-9!#$%&'*+.^_`|~-]+$/.test(name), 'must be the name of a header')
  .refine((name) => !transportHeaders.has(name), 'is a header that says how a request travels')

const HeaderFormat = z
  .string()
  .max(256)
  .regex(/^[\x20-\x7e]*$/, 'must be printable ASCII')
  .refine((format) => format.split(valueMark).length === 2, `must have ${valueMark} exactly once`)

/** A value that is valid in a header and in an environment variable. */
export const SecretValue = z
  .string()
  .min(1)
  .max(maxSecretBytes)
  .regex(/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/, 'must be printable ASCII on one line, without spaces around it')

const variable = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,255}$/, 'must be a variable name: letters, digits and _, not beginning with a digit')

const settings = {
  value: SecretValue.optional().describe('Never answered again. Exactly one of `value` and `provider`.'),
  provider: z
    .string()
    .min(1)
    .max(63)
    .optional()
    .describe('An identity provider by name or id, that makes the value when it is needed.'),
  hosts: z.array(SecretHost).min(1).max(32).optional().describe('The only hosts it is sent to, over verified TLS.'),
  header: HeaderName.optional().describe('The one header it is put into. Default `authorization`.'),
  format: HeaderFormat.optional().describe(
    'What the header is; default `Bearer {value}` for `authorization`, else `{value}`.',
  ),
  env: z
    .boolean()
    .default(false)
    .describe(
      'Put the real value into the environment of runtimes, where everything inside can read it. Only where a program cannot work with a header; `hosts`, `header` and `format` have no meaning then.',
    ),
  env_name: variable.optional().describe('The variable in the runtime. Default: the name in capitals, `-` as `_`.'),
}

interface Settings {
  readonly value?: string | undefined
  readonly provider?: string | undefined
  readonly hosts?: readonly string[] | undefined
  readonly header?: string | undefined
  readonly format?: string | undefined
  readonly env: boolean
}

/** Reports the faults in the settings of a secret that concern several fields. */
function wrongSettings(secret: Settings & { readonly name?: string | undefined }, context: z.RefinementCtx): void {
  const issue = (field: string, message: string) => context.addIssue({ code: 'custom', path: [field], message })
  if ((secret.value === undefined) === (secret.provider === undefined))
    issue('value', 'give exactly one of value and provider')
  if (secret.env) {
    for (const field of ['hosts', 'header', 'format'] as const)
      if (secret[field] !== undefined) issue(field, 'has no meaning where the value itself is in the runtime (env)')
  } else if (secret.hosts === undefined && (secret.name === undefined || secretDefaults(secret.name) === null)) {
    issue('hosts', 'is required: the hosts the secret is for, such as ["api.example.com"]')
  }
}

/** The body of a new secret. */
export const CreateSecret = z
  .strictObject({ name: nameBesideId('secret').describe("Unique among the project's secrets."), ...settings })
  .superRefine(wrongSettings, ifSound('name', ...Object.keys(settings)))
  .meta({ id: 'CreateSecret', examples: [{ name: 'example', value: 'VALUE', hosts: ['api.example.com'] }] })
export type CreateSecretInput = z.input<typeof CreateSecret>
export type CreateSecret = z.output<typeof CreateSecret>

const again = 'Cannot change; saying it again is allowed.'
const replaceable = {
  ...settings,
  env: z.boolean().optional().describe(again),
  env_name: settings.env_name.describe(again),
}

/**
 * The body of a new version. An absent field stays. The placement of the value inside runtimes, and
 * its variable, cannot change.
 */
export const ReplaceSecret = z
  .strictObject(replaceable)
  .superRefine(
    ({ env: _, env_name: __, ...change }, context) => {
      const issue = (message: string) => context.addIssue({ code: 'custom', path: ['value'], message })
      if (change.value !== undefined && change.provider !== undefined) issue('give one of value and provider')
      if (Object.values(change).every((value) => value === undefined)) issue('is required where nothing else changes')
    },
    ifSound(...Object.keys(replaceable)),
  )
  .meta({ id: 'ReplaceSecret', examples: [{ value: 'VALUE' }] })
export type ReplaceSecretInput = z.input<typeof ReplaceSecret>
export type ReplaceSecret = z.output<typeof ReplaceSecret>

/** A secret without its value. */
export const Secret = z
  .object({
    secret_id: idSchema('secret').describe('The id of the secret.'),
    name: z.string().describe("Unique among the project's secrets."),
    version: z.number().int().describe('1 at first, one more with each change.'),
    provider: z
      .object({
        provider_id: idSchema('provider').describe('The id of the provider.'),
        name: z.string().describe('The name of the provider.'),
      })
      .nullable()
      .describe('The identity provider that makes the value; null where the value is stored.'),
    hosts: z.array(z.string()).describe('The only hosts that the value is sent to.'),
    header: z.string().nullable().describe('The header that the value is put into; null where it is inside runtimes.'),
    format: z
      .string()
      .nullable()
      .describe('What the header is, with `{value}` in it; null where it is inside runtimes.'),
    env: z.boolean().describe('True if the real value is in the environment of runtimes.'),
    env_name: z.string().describe('The variable in the runtime.'),
    created_at: Timestamp.describe('When it was stored (RFC 3339 UTC with milliseconds).'),
    updated_at: Timestamp.describe('When it changed last (RFC 3339 UTC with milliseconds).'),
  })
  .meta({ id: 'Secret' })
export type Secret = z.infer<typeof Secret>

/** The answer to a rotation of the encryption key of secrets. */
export const KeyRotated = z
  .object({
    resealed: z.number().int().describe('How many values were encrypted anew.'),
    rotated_at: Timestamp.describe('When it was done (RFC 3339 UTC with milliseconds).'),
  })
  .meta({ id: 'KeyRotated' })
