/** What a secret is where its own settings do not say. */
export interface SecretDefaults {
  readonly hosts: readonly string[]
  readonly header: string
  readonly format: string
  readonly envName: string
}

/**
 * The secrets of model vendors, by the name that a secret has: hosts, header and variable as the
 * vendors' own clients use them.
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

/** The defaults of a secret that is named for a model vendor; null for any other name. */
export function secretDefaults(name: string): SecretDefaults | null {
  return Object.hasOwn(vendors, name) ? (vendors[name] ?? null) : null
}

/** The header of a secret that names none. */
export const defaultHeader = 'authorization'

/** What a header is for a secret that gives no format. */
export function defaultFormat(header: string): string {
  return header === defaultHeader ? 'Bearer {value}' : '{value}'
}

/** The variable of a secret that names none: `stripe-key` becomes `STRIPE_KEY`. */
export function defaultEnvName(name: string): string {
  const text = name.toUpperCase().replaceAll('-', '_')
  return /^\d/.test(text) ? `_${text}` : text
}
