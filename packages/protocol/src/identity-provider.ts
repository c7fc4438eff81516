import { z } from 'zod'
import { idSchema } from './ids.ts'
import { nameBesideId } from './name.ts'
import { Timestamp } from './page.ts'
import { SecretValue } from './secret.ts'

const name = nameBesideId('provider').describe("Unique among the project's providers.")

const printable = (maxLength: number) =>
  z
    .string()
    .min(1)
    .max(maxLength)
    .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces')

const tokenUrl = z.string().max(2048).refine(isTokenUrl, 'must be an https address without user, password and fragment')

/** The algorithms that sign tokens. Most verifiers accept RS256. */
export const signingAlgorithms = ['RS256', 'ES256', 'EdDSA'] as const
export type SigningAlgorithm = (typeof signingAlgorithms)[number]

/** The longest life of a token that the service signs, in seconds. A token cannot be revoked. */
export const maxTokenSecs = 600

const kinds = {
  static: {
    type: z.literal('static').describe('One stored value for several secrets.'),
    value: SecretValue.describe('One value for several secrets. Never answered again.'),
  },
  oauth2: {
    type: z.literal('oauth2').describe('Access tokens by client credentials (RFC 6749, 4.4).'),
    token_url: tokenUrl.describe('The https address that tokens are requested from.'),
    client_id: printable(512).describe('The id of the client at the token address.'),
    client_secret: SecretValue.describe('Never answered again.'),
    scopes: z.array(printable(256)).max(64).default([]).describe('The scopes to request. Default: none.'),
    audience: printable(1024).nullable().default(null).describe('The `audience` to request. Default null: none.'),
    authentication: z
      .enum(['basic', 'body'])
      .default('basic')
      .describe(
        'Where id and secret of the client stand: in the Authorization header or in the form (RFC 6749, 2.3.1).',
      ),
  },
  workload: {
    type: z.literal('workload').describe('Short-lived JWTs that this service signs for each runtime.'),
    audience: printable(1024).describe('Who the token is for: `aud`.'),
    ttl_secs: z
      .number()
      .int()
      .min(60)
      .max(maxTokenSecs)
      .default(maxTokenSecs)
      .describe('How long a token is valid, in seconds. Default 600.'),
    algorithm: z.enum(signingAlgorithms).default('RS256').describe('What tokens are signed with. Default `RS256`.'),
  },
}

/** The body of a new provider, a source of the values of secrets. */
export const CreateProvider = z
  .discriminatedUnion('type', [
    z.strictObject({ name, ...kinds.static }),
    z.strictObject({ name, ...kinds.oauth2 }),
    z.strictObject({ name, ...kinds.workload }),
  ])
  .meta({ id: 'CreateProvider' })
export type CreateProviderInput = z.input<typeof CreateProvider>
export type CreateProvider = z.output<typeof CreateProvider>

/** The body that replaces a provider. The name and the type stay. */
export const ReplaceProvider = z
  .discriminatedUnion('type', [
    z.strictObject(kinds.static),
    z.strictObject(kinds.oauth2),
    z.strictObject(kinds.workload),
  ])
  .meta({ id: 'ReplaceProvider' })
export type ReplaceProviderInput = z.input<typeof ReplaceProvider>
export type ReplaceProvider = z.output<typeof ReplaceProvider>

/** The settings of a provider without its secrets. */
export const ProviderSettings = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('static').describe('One stored value for several secrets.') }),
    z.object({
      type: z.literal('oauth2').describe('Access tokens by client credentials (RFC 6749, 4.4).'),
      token_url: z.string().describe('The https address that tokens are requested from.'),
      client_id: z.string().describe('The id of the client at the token address.'),
      scopes: z.array(z.string()).describe('The scopes that are requested.'),
      audience: z.string().nullable().describe('The `audience` that is requested; null: none.'),
      authentication: z
        .enum(['basic', 'body'])
        .describe('Where id and secret of the client stand: `basic` in the Authorization header, `body` in the form.'),
    }),
    z.object({
      type: z.literal('workload').describe('Short-lived JWTs that this service signs for each runtime.'),
      audience: z.string().describe('Who the token is for: `aud`.'),
      ttl_secs: z.number().int().describe('How long a token is valid, in seconds.'),
      algorithm: z.enum(signingAlgorithms).describe('What tokens are signed with.'),
    }),
  ])
  .meta({ id: 'ProviderSettings' })
export type ProviderSettings = z.infer<typeof ProviderSettings>

/** A provider without its secrets. */
export const Provider = z
  .object({
    provider_id: idSchema('provider').describe('The id of the provider.'),
    name: z.string().describe("Unique among the project's providers."),
    settings: ProviderSettings.describe('Its type, and the settings that are not secret.'),
    version: z.number().int().describe('1 at first, one more with each replacement.'),
    last_error: z
      .object({
        message: z.string().describe('What happened, in a sentence.'),
        at: Timestamp.describe('When it happened (RFC 3339 UTC with milliseconds).'),
      })
      .nullable()
      .describe(
        'Why the last value could not be had; null where it could, or none was needed since the service started.',
      ),
    created_at: Timestamp.describe('When it was stored (RFC 3339 UTC with milliseconds).'),
    updated_at: Timestamp.describe('When it was replaced last (RFC 3339 UTC with milliseconds).'),
  })
  .meta({ id: 'Provider' })
export type Provider = z.infer<typeof Provider>

/** The public keys that verify the tokens of this service (RFC 7517). */
export const JsonWebKeySet = z
  .object({
    keys: z.array(z.record(z.string(), z.unknown())).describe('The public keys, as JSON Web Keys (RFC 7517, 4).'),
  })
  .meta({ id: 'JsonWebKeySet' })

/** The facts about this issuer for verifiers (OpenID Connect Discovery 1.0, section 3). */
export const OpenIdConfiguration = z
  .object({
    issuer: z.string().describe('The `iss` of every token: the public address of the service.'),
    jwks_uri: z.string().describe('The address of the public keys.'),
    response_types_supported: z.array(z.string()).describe('Required by the standard: `id_token`.'),
    subject_types_supported: z.array(z.string()).describe('Required by the standard: `public`.'),
    id_token_signing_alg_values_supported: z
      .array(z.string())
      .describe('The algorithms that tokens may be signed with.'),
    claims_supported: z.array(z.string()).describe('The claims that tokens may have.'),
  })
  .meta({ id: 'OpenIdConfiguration' })

function isTokenUrl(text: string): boolean {
  if (!/^[\x21-\x7e]+$/.test(text) || !URL.canParse(text)) return false
  const { protocol, username, password, hash } = new URL(text)
  return protocol === 'https:' && username === '' && password === '' && hash === ''
}
