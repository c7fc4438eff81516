import type { CreateSecretInput, ReplaceSecretInput, Secret } from '@holt/sdk'

/** The texts of the form of a secret. Its value is not among them: only its input has that. */
export interface SecretFields {
  readonly name: string
  /** `value`, or the name of the provider that makes the value. */
  readonly provider: string
  /** Spaces, commas or lines separate the hosts. */
  readonly hosts: string
  readonly header: string
  readonly format: string
  readonly env: boolean
  readonly envName: string
}

/** Returns the texts of the form: those of a stored secret, or empty ones for a new one. */
export function fieldsOf(secret: Secret | null): SecretFields {
  return {
    name: secret?.name ?? '',
    provider: secret?.provider?.name ?? '',
    hosts: secret?.hosts.join('\n') ?? '',
    header: secret?.header ?? '',
    format: secret?.format ?? '',
    env: secret?.env ?? false,
    envName: secret?.env_name ?? '',
  }
}

/** Returns the body of a new secret. The service itself checks the fields. */
export function newSecretOf(fields: SecretFields, value: string): CreateSecretInput {
  const { name, provider, env, envName } = fields
  return {
    name: name.trim(),
    ...(provider === '' ? { value } : { provider }),
    ...(env ? { env } : placeOf(fields)),
    ...(envName.trim() === '' ? {} : { env_name: envName.trim() }),
  }
}

/** Returns the body of a new version: the fields that changed, and the value if one was entered. */
export function newVersionOf(fields: SecretFields, value: string, secret: Secret): ReplaceSecretInput {
  const before = fieldsOf(secret)
  const isOfProvider = fields.provider !== ''
  const { hosts, header, format } = placeOf(fields)
  return {
    ...(isOfProvider && fields.provider !== before.provider ? { provider: fields.provider } : {}),
    ...(!isOfProvider && value !== '' ? { value } : {}),
    ...(hosts !== undefined && fields.hosts !== before.hosts ? { hosts } : {}),
    ...(header !== undefined && fields.header !== before.header ? { header } : {}),
    ...(format !== undefined && fields.format !== before.format ? { format } : {}),
  }
}

function placeOf({ hosts, header, format }: SecretFields) {
  const names = hosts.split(/[\s,]+/).filter((host) => host !== '')
  return {
    ...(names.length === 0 ? {} : { hosts: names }),
    ...(header.trim() === '' ? {} : { header: header.trim() }),
    ...(format.trim() === '' ? {} : { format: format.trim() }),
  }
}
