import { z } from 'zod'
import { Etag } from './etag.ts'
import { hopByHopHeaders } from './hop-by-hop.ts'
import { idSchema } from './ids.ts'
import { ifSound } from './if-sound.ts'
import { nameBesideId } from './name.ts'
import { hostForm } from './network-policy.ts'
import { Timestamp } from './page.ts'
import { secretDefaults } from './secret-defaults.ts'

/**
 * The maximum number of bytes of a secret's value. A header must fit a server's limit on headers.
 */
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
  value: SecretValue.optional().describe(
    'The value of the secret. No answer contains it. Give exactly one of `value` and `provider`.',
  ),
  provider: z
    .string()
    .min(1)
    .max(63)
    .optional()
    .describe(
      'The identity provider that makes the value on demand, by name or id. Give exactly one of `value` and `provider`.',
    ),
  hosts: z
    .array(SecretHost)
    .min(1)
    .max(32)
    .optional()
    .describe(
      'The only hosts that receive the value, over verified TLS. Required, except for names with known hosts and with `env`.',
    ),
  header: HeaderName.optional().describe('The header that carries the value. Default `authorization`.'),
  format: HeaderFormat.optional().describe(
    'The header text, with `{value}` in the place of the value. Default: `Bearer {value}` for `authorization`, else `{value}`.',
  ),
  env: z
    .boolean()
    .default(false)
    .describe(
      'True: put the real value into the environment of runtimes, where every process can read it. Use it only for programs that cannot use a header. Excludes `hosts`, `header` and `format`. Default false.',
    ),
  env_name: variable
    .optional()
    .describe(
      'The environment variable in the runtime. Default: the name of the secret in capitals, with `_` for `-`.',
    ),
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
  .strictObject({
    name: nameBesideId('secret').describe('The name of the secret, unique in the project.'),
    ...settings,
  })
  .superRefine(wrongSettings, ifSound('name', ...Object.keys(settings)))
  .meta({ id: 'CreateSecret', examples: [{ name: 'example', value: 'VALUE', hosts: ['api.example.com'] }] })
export type CreateSecretInput = z.input<typeof CreateSecret>
export type CreateSecret = z.output<typeof CreateSecret>

const again = 'Cannot change: an absent field or the current value is accepted.'
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
    name: z.string().describe('The name of the secret, unique in the project.'),
    version: z
      .number()
      .int()
      .describe('The version of the secret: 1 for a new secret, and one more after each change.'),
    provider: z
      .object({
        provider_id: idSchema('provider').describe('The id of the provider.'),
        name: z.string().describe('The name of the provider.'),
      })
      .nullable()
      .describe('The identity provider that makes the value; null if the value is stored.'),
    hosts: z.array(z.string()).describe('The only hosts that receive the value.'),
    header: z.string().nullable().describe('The header that carries the value; null if `env` is true.'),
    format: z
      .string()
      .nullable()
      .describe('The header text, with `{value}` in the place of the value; null if `env` is true.'),
    env: z.boolean().describe('True if the environment of runtimes has the real value.'),
    env_name: z.string().describe('The environment variable in the runtime.'),
    etag: Etag,
    created_at: Timestamp.describe('When the secret was created (RFC 3339 UTC with milliseconds).'),
    updated_at: Timestamp.describe('When the secret last changed (RFC 3339 UTC with milliseconds).'),
  })
  .meta({ id: 'Secret' })
export type Secret = z.infer<typeof Secret>

/** The answer to a rotation of the encryption key of secrets. */
export const KeyRotated = z
  .object({
    resealed: z.number().int().describe('The number of values that were encrypted with the new key.'),
    rotated_at: Timestamp.describe('When the rotation was done (RFC 3339 UTC with milliseconds).'),
  })
  .meta({ id: 'KeyRotated' })
