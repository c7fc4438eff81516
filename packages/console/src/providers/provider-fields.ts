import type { CreateProviderInput, Provider, ReplaceProviderInput } from '@holt/sdk'

/** The kinds of providers, with what they are. */
export const providerTypes = {
  static: 'One stored value for several secrets',
  oauth2: 'OAuth 2.0 access tokens, by client credentials',
  workload: 'Short-lived tokens that this service signs for each runtime',
} as const

/** A kind of provider. */
export type ProviderType = keyof typeof providerTypes

/** The texts of the form of a provider, without its secret. */
export interface ProviderFields {
  readonly name: string
  readonly type: ProviderType
  readonly tokenUrl: string
  readonly clientId: string
  /** Spaces separate the scopes. */
  readonly scopes: string
  readonly audience: string
  readonly authentication: string
  readonly ttl: string
  readonly algorithm: string
}

/** Returns the texts of the form: those of a stored provider, or empty ones for a new one. */
export function providerFieldsOf(provider: Provider | null): ProviderFields {
  const settings = provider?.settings
  const oauth2 = settings?.type === 'oauth2' ? settings : undefined
  const workload = settings?.type === 'workload' ? settings : undefined
  return {
    name: provider?.name ?? '',
    type: settings?.type ?? 'static',
    tokenUrl: oauth2?.token_url ?? '',
    clientId: oauth2?.client_id ?? '',
    scopes: oauth2?.scopes.join(' ') ?? '',
    audience: oauth2?.audience ?? workload?.audience ?? '',
    authentication: oauth2?.authentication ?? 'basic',
    ttl: workload === undefined ? '600' : String(workload.ttl_secs),
    algorithm: workload?.algorithm ?? 'RS256',
  }
}

/** Returns the body that stores a provider. The service itself checks the fields. */
export function newProviderOf(fields: ProviderFields, secret: string): CreateProviderInput {
  return { name: fields.name.trim(), ...settingsOf(fields, secret) }
}

/** Returns the settings of a provider, as its replacement takes them. */
export function settingsOf(fields: ProviderFields, secret: string): ReplaceProviderInput {
  const { type, tokenUrl, clientId, scopes, audience, authentication, ttl, algorithm } = fields
  if (type === 'static') return { type, value: secret }
  if (type === 'workload')
    return {
      type,
      audience: audience.trim(),
      ttl_secs: Number(ttl),
      algorithm: algorithm as 'RS256' | 'ES256' | 'EdDSA',
    }
  return {
    type,
    token_url: tokenUrl.trim(),
    client_id: clientId.trim(),
    client_secret: secret,
    scopes: scopes.split(/\s+/).filter((scope) => scope !== ''),
    audience: audience.trim() === '' ? null : audience.trim(),
    authentication: authentication as 'basic' | 'body',
  }
}
