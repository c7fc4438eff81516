import { z } from 'zod'
import { Etag } from './etag.ts'
import { idSchema } from './ids.ts'
import { nameBesideId } from './name.ts'
import { Timestamp } from './page.ts'
import { SecretValue } from './secret.ts'

const name = nameBesideId('provider').describe('The name of the provider, unique in the project.')

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
    value: SecretValue.describe('The value, for one or more secrets. No answer contains it.'),
  },
  oauth2: {
    type: z.literal('oauth2').describe('Access tokens from an OAuth 2.0 client credentials grant (RFC 6749, 4.4).'),
    token_url: tokenUrl.describe('The https address of the token endpoint.'),
    client_id: printable(512).describe('The client id at the token endpoint.'),
    client_secret: SecretValue.describe('The client secret at the token endpoint. No answer contains it.'),
    scopes: z.array(printable(256)).max(64).default([]).describe('The scopes to request. Default: none.'),
    audience: printable(1024).nullable().default(null).describe('The `audience` to request. Default null: none.'),
    authentication: z
      .enum(['basic', 'body'])
      .default('basic')
      .describe(
        'The place of the client id and secret in a token request (RFC 6749, 2.3.1). `basic` (default): the Authorization header. `body`: the form.',
      ),
  },
  workload: {
    type: z.literal('workload').describe('Short-lived JWTs that this service signs for each runtime.'),
    audience: printable(1024).describe('The recipient of the token, as its `aud` claim.'),
    ttl_secs: z
      .number()
      .int()
      .min(60)
      .max(maxTokenSecs)
      .default(maxTokenSecs)
      .describe('The lifetime of a token in seconds. Default 600.'),
    algorithm: z
      .enum(signingAlgorithms)
      .default('RS256')
      .describe('The signing algorithm of the tokens. Default `RS256`.'),
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
      type: z.literal('oauth2').describe('Access tokens from an OAuth 2.0 client credentials grant (RFC 6749, 4.4).'),
      token_url: z.string().describe('The https address of the token endpoint.'),
      client_id: z.string().describe('The client id at the token endpoint.'),
      scopes: z.array(z.string()).describe('The requested scopes.'),
      audience: z.string().nullable().describe('The requested `audience`; null if none is requested.'),
      authentication: z
        .enum(['basic', 'body'])
        .describe(
          'The place of the client id and secret in a token request. `basic`: the Authorization header. `body`: the form.',
        ),
    }),
    z.object({
      type: z.literal('workload').describe('Short-lived JWTs that this service signs for each runtime.'),
      audience: z.string().describe('The recipient of the token, as its `aud` claim.'),
      ttl_secs: z.number().int().describe('The lifetime of a token in seconds.'),
      algorithm: z.enum(signingAlgorithms).describe('The signing algorithm of the tokens.'),
    }),
  ])
  .meta({ id: 'ProviderSettings' })
export type ProviderSettings = z.infer<typeof ProviderSettings>

/** A provider without its secrets. */
export const Provider = z
  .object({
    provider_id: idSchema('provider').describe('The id of the provider.'),
    name: z.string().describe('The name of the provider, unique in the project.'),
    settings: ProviderSettings.describe('The type of the provider and its public settings.'),
    version: z
      .number()
      .int()
      .describe('The version of the settings: 1 for a new provider, and one more after each replacement.'),
    last_error: z
      .object({
        message: z.string().describe('A sentence for people that says what happened.'),
        at: Timestamp.describe('When it happened (RFC 3339 UTC with milliseconds).'),
      })
      .nullable()
      .describe(
        'Why the last request for a value failed. Null: it succeeded, or there was none since the service started.',
      ),
    etag: Etag,
    created_at: Timestamp.describe('When the provider was created (RFC 3339 UTC with milliseconds).'),
    updated_at: Timestamp.describe('When the provider was last replaced (RFC 3339 UTC with milliseconds).'),
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
    id_token_signing_alg_values_supported: z.array(z.string()).describe('The algorithms that can sign tokens.'),
    claims_supported: z.array(z.string()).describe('The claims that tokens can have.'),
  })
  .meta({ id: 'OpenIdConfiguration' })

function isTokenUrl(text: string): boolean {
  if (!/^[\x21-\x7e]+$/.test(text) || !URL.canParse(text)) return false
  const { protocol, username, password, hash } = new URL(text)
  return protocol === 'https:' && username === '' && password === '' && hash === ''
}
