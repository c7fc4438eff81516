import type { Command } from 'commander'
import { runDaemonVerb } from '../../daemon/run-daemon-verb.ts'
import { act } from '../../verb/verb.ts'

const examples = `
Examples:
  holt e2b certificate
  holt e2b certificate --domain sandboxes.lan --days 90
  holt e2b certificate --out /srv/holt-tls --trust`

interface CertificateOptions {
  readonly domain?: string
  readonly days?: string
  readonly out?: string
  readonly trust?: boolean
  readonly stateDir?: string
  readonly json?: boolean
}

/**
 * Adds `holt e2b certificate`. The program of the service makes the files, because it has the code
 * for certificates.
 */
export function addCertificate(group: Command): void {
  const command = group
    .command('certificate')
    .description('make or renew a certificate for the TLS listener, and print what to set for service and clients')
    .option(
      '--domain <domain>',
      'its domain; it is also for all names below (default: HOLT_E2B_DOMAIN, else holt.localhost)',
    )
    .option('--days <days>', 'its validity in days (default: 397)')
    .option('--out <dir>', 'the directory of the files (default: tls/DOMAIN in the state directory)')
    .option('--trust', 'let this system trust the authority, which can certify only the domain; needs root')
    .option(
      '--state-dir <path>',
      'the state directory of the installation (default: HOLT_STATE_DIR, else /var/lib/holt)',
    )
    .option('--json', 'print the files as JSON')
    .addHelpText('after', examples)
  act(command, (options: CertificateOptions) => {
    if (options.stateDir !== undefined) process.env.HOLT_STATE_DIR = options.stateDir
    const values = (['domain', 'days', 'out'] as const).flatMap((name) => {
      const value = options[name]
      return value === undefined ? [] : [`--${name}`, value]
    })
    const flags = (['trust', 'json'] as const).flatMap((name) => (options[name] === true ? [`--${name}`] : []))
    return runDaemonVerb(['certificate', ...values, ...flags])
  })
}
