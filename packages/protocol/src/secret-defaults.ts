/** The defaults of a secret's settings. */
export interface SecretDefaults {
  readonly hosts: readonly string[]
  readonly header: string
  readonly format: string
  readonly envName: string
}

/**
 * The secrets of model vendors, by the name of the secret. Hosts, header and variable are those of
 * the vendors' own clients.
 */
const vendors: Readonly<Record<string, SecretDefaults>> = {
  anthropic: { hosts: ['api.anthropic.com'], header: 'x-api-key', format: '{value}', envName: 'ANTHROPIC_API_KEY' },
  openai: { hosts: ['api.openai.com'], header: 'authorization', format: 'Bearer {value}', envName: 'OPENAI_API_KEY' },
  google: {
    hosts: ['generativelanguage.googleapis.com'],
    header: 'x-goog-api-key',
    format: '{value}',
    envName: 'GEMINI_API_KEY',
  },
}

/** Returns the defaults of a secret that is named after a model vendor; null for any other name. */
export function secretDefaults(name: string): SecretDefaults | null {
  return Object.hasOwn(vendors, name) ? (vendors[name] ?? null) : null
}

/** The default header of a secret. */
export const defaultHeader = 'authorization'

/** Returns the default format of a header. */
export function defaultFormat(header: string): string {
  return header === defaultHeader ? 'Bearer {value}' : '{value}'
}

/** Returns the default variable of a secret: `stripe-key` becomes `STRIPE_KEY`. */
export function defaultEnvName(name: string): string {
  const text = name.toUpperCase().replaceAll('-', '_')
  return /^\d/.test(text) ? `_${text}` : text
}
