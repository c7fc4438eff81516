import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { ConfigError } from '../../foundation/config/config.ts'
import { type MadeCertificate, makeCertificate } from './make-certificate.ts'
import { type Trusted, trustAuthority } from './trust-authority.ts'

/** The usual domain. OpenSSL takes no wildcard directly below a top level, such as `localhost`. */
const usualDomain = 'holt.localhost'

/** The longest validity that all platforms take of a certificate from an added authority. */
const mostDays = 825

const label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?'

const Options = z.object({
  domain: z
    .string()
    .transform((text) => text.toLowerCase().replace(/:\d+$/, '').replace(/\.$/, ''))
    .refine(
      (name) => name.length <= 200 && new RegExp(`^${label}(?:\\.${label})+$`).test(name),
      'must be a domain of at least two parts, such as holt.localhost',
    ),
  days: z
    .string()
    .regex(/^\d{1,4}$/, 'must be a whole number of days')
    .transform(Number)
    .refine((days) => days >= 1 && days <= mostDays, `must be between 1 and ${mostDays}`),
})

/**
 * Makes a certificate, or renews it, and prints the settings of service and clients. Returns the
 * exit code.
 */
export async function runCertificate(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<number> {
  const { domain, days, out, trust, json } = optionsOf(args, env)
  const stateDir = env.HOLT_STATE_DIR ?? '/var/lib/holt'
  const dir = out ?? join(stateDir, 'tls', domain)
  const made = await makeCertificate({ domain, days, dir, now: Date.now() })
  const trusted = trust ? await trustAuthority(made.authorityFile, domain) : null
  process.stdout.write(
    json
      ? `${JSON.stringify(asJson(made, trusted))}\n`
      : wordsOf(made, { trusted, port: env.HOLT_E2B_TLS_PORT || '8443' }),
  )
  return 0
}

function optionsOf(args: readonly string[], env: Readonly<Record<string, string | undefined>>) {
  const { values } = parsed(args)
  const {
    domain: name = env.HOLT_E2B_DOMAIN || usualDomain,
    days: text = '397',
    out,
    trust = false,
    json = false,
  } = values
  const checked = Options.safeParse({ domain: name, days: text })
  if (!checked.success)
    throw new ConfigError(checked.error.issues.map(({ path, message }) => `--${path.join('.')}: ${message}`).join('\n'))
  if (out !== undefined && !out.startsWith('/')) throw new ConfigError('--out: must be an absolute path')
  return { ...checked.data, out, trust, json }
}

function parsed(args: readonly string[]) {
  const text = { type: 'string' } as const
  const flag = { type: 'boolean' } as const
  try {
    return parseArgs({ args: [...args], options: { domain: text, days: text, out: text, trust: flag, json: flag } })
  } catch (error) {
    throw new ConfigError(error instanceof Error ? error.message : String(error), { cause: error })
  }
}

function asJson(made: MadeCertificate, trusted: Trusted | null) {
  return {
    domain: made.domain,
    certificate: made.certFile,
    key: made.keyFile,
    authority: made.authorityFile,
    bundle: made.bundleFile,
    valid_until: made.validUntil.toISOString(),
    new_authority: made.isNewAuthority,
    trusted: trusted?.file ?? null,
  }
}

function wordsOf(made: MadeCertificate, { trusted, port }: { trusted: Trusted | null; port: string }): string {
  const { domain, certFile, keyFile, authorityFile, bundleFile, validUntil, isNewAuthority } = made
  return `${[
    `# A certificate for ${domain} and *.${domain}, valid until ${validUntil.toISOString().slice(0, 10)}.`,
    isNewAuthority
      ? '# A new authority has signed it. It can certify no other domain.'
      : '# The authority is the earlier one, which clients know already. A running service takes the certificate by itself.',
    '',
    '# The service, before it starts:',
    `export HOLT_E2B=on HOLT_E2B_DOMAIN=${domain}${port === '443' ? '' : `:${port}`}`,
    `export HOLT_E2B_TLS_CERT=${shellWord(certFile)}`,
    `export HOLT_E2B_TLS_KEY=${shellWord(keyFile)}`,
    '',
    '# Clients in JavaScript (the SDK, the code interpreter, the CLI):',
    `export NODE_EXTRA_CA_CERTS=${shellWord(authorityFile)}`,
    "# Clients in Python, whose file replaces the system's authorities, so it contains them too:",
    `export SSL_CERT_FILE=${shellWord(bundleFile)}`,
    '',
    ...(trusted === null
      ? ['# Browsers and other programs: add --trust to this command, or import the file of NODE_EXTRA_CA_CERTS.']
      : [`# The system trusts the authority now (${trusted.file}).`, `# To end that: ${trusted.undo}`]),
  ].join('\n')}\n`
}

function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
