import type { Finding } from './finding.ts'

/** The addresses and the key that E2B's clients use. */
export interface ClientSettings {
  readonly key: string
  /** The domain of domain mode, with its port. Null: one address for everything. */
  readonly domain: string | null
  readonly apiUrl: string
  /** Returns the address of commands and files of a sandbox. */
  envdUrl(sandboxId: string): string
}

type Environment = Readonly<Record<string, string | undefined>>

/** Reads the variables of E2B's clients, as these do. `settings` is null if they do not suffice. */
export function clientSettings(env: Environment): {
  readonly settings: ClientSettings | null
  readonly findings: readonly Finding[]
} {
  const { E2B_API_KEY: key = '', E2B_API_URL: api = '', E2B_SANDBOX_URL: sandbox = '', E2B_DOMAIN: domain = '' } = env
  const findings: Finding[] = [...checkKey(key), ...checkMode({ api, sandbox, domain }), ...checkDebug(env)]
  if (findings.some(({ status }) => status === 'fix')) return { settings: null, findings }
  const settings = {
    key,
    domain: api === '' ? domain : null,
    apiUrl: api === '' ? `https://api.${domain}` : api.replace(/\/$/, ''),
    envdUrl: (id: string) => (sandbox === '' ? `https://49983-${id}.${domain}` : sandbox.replace(/\/$/, '')),
  }
  return { settings, findings }
}

function checkKey(key: string): readonly Finding[] {
  const name = 'E2B_API_KEY'
  if (key === '') return [{ name, status: 'fix', message: 'is not set. Set it: eval "$(holt e2b env)"' }]
  if (/^e2b_[0-9a-f]+$/.test(key)) return [{ name, status: 'ok', message: 'has the form that every client accepts' }]
  const message =
    'is not e2b_ and hexadecimal digits, which some versions of the clients refuse. Make one: holt e2b env'
  return [{ name, status: 'note', message }]
}

function checkMode({ api, sandbox, domain }: Record<'api' | 'sandbox' | 'domain', string>): readonly Finding[] {
  const name = 'mode'
  if (api === '' && sandbox === '' && domain === '')
    return [
      {
        name,
        status: 'fix',
        message: 'no address is set, so programs would use E2B itself. Set one: eval "$(holt e2b env)"',
      },
    ]
  if (api === '' && sandbox === '') return [{ name, status: 'ok', message: `domain mode, ${domain}` }]
  if (api === '' || sandbox === '')
    return [
      {
        name,
        status: 'fix',
        message: `E2B_${api === '' ? 'API' : 'SANDBOX'}_URL is not set, but the other address is: set both, or only E2B_DOMAIN`,
      },
    ]
  const message = `one address, ${api}: getHost and code interpreters before 2.8 (JavaScript) and 2.11 (Python) need domain mode`
  return [{ name, status: 'ok', message }]
}

function checkDebug({ E2B_DEBUG: debug = '' }: Environment): readonly Finding[] {
  if (debug.toLowerCase() !== 'true') return []
  return [
    { name: 'E2B_DEBUG', status: 'fix', message: 'is true, so clients ask no service at all. Run: unset E2B_DEBUG' },
  ]
}
