import type { Scope } from '@holt/sdk'
import type { Command } from 'commander'
import { connect } from '../connection/connect.ts'
import { print, printJson, say } from '../output/print.ts'
import { ourCommand } from '../shell/our-command.ts'
import { shellWord } from '../shell/shell-word.ts'
import { act } from '../verb/verb.ts'
import { addCheck } from './e2b/check-clients.ts'
import { addCertificate } from './e2b/make-certificate-files.ts'

const examples = `
Examples:
  holt up --e2b
  eval "$(holt e2b env)"
  holt e2b env --domain holt.localhost:8443
  holt e2b env --key "$E2B_API_KEY" --json
  holt e2b certificate
  holt e2b check`

/** The time for the service to answer, in milliseconds. */
const answerTimeoutMs = 10_000

/** The scopes of a new key: what E2B's clients do with sandboxes and templates. */
const scopes: Scope[] = ['runtime:read', 'runtime:write', 'template:read', 'template:write']

interface EnvOptions {
  readonly domain?: string
  readonly key?: string
  readonly json?: boolean
}

/** Adds `holt e2b`, which helps programs that are written for E2B to use this service. */
export function addE2b(program: Command): void {
  const group = program
    .command('e2b')
    .description('use this service from programs that are written for E2B')
    .addHelpText('after', examples)
  const env = group
    .command('env')
    .description("print the variables for E2B's clients, with a new key; a shell can read them")
    .option('--domain <domain>', 'its domain, for domain mode with TLS (default: HOLT_E2B_DOMAIN, else one address)')
    .option('--key <key>', 'a key to print, instead of a new one')
    .option('--json', 'print them as JSON')
  act(env, printVariables)
  addCertificate(group)
  addCheck(group)
}

async function printVariables({ domain = domainOfShell(), key, json }: EnvOptions): Promise<number> {
  const holt = connect()
  const { url } = holt
  await requireEntry(url)
  const secret = key ?? (await holt.keys.create({ name: 'for clients of E2B', format: 'e2b', scopes })).key
  const variables: Readonly<Record<string, string>> =
    domain === undefined
      ? { E2B_API_KEY: secret, E2B_API_URL: url, E2B_SANDBOX_URL: url }
      : { E2B_API_KEY: secret, E2B_DOMAIN: domain }
  if (json === true) {
    printJson(variables)
    return 0
  }
  for (const [name, value] of Object.entries(variables)) print(`export ${name}=${shellWord(value)}`)
  // A variable of the other mode would win.
  print(domain === undefined ? 'unset E2B_DOMAIN' : 'unset E2B_API_URL E2B_SANDBOX_URL')
  if (domain === undefined)
    say('holt: this is for one address, without the names of ports. Domain mode: --domain DOMAIN')
  return 0
}

/** Returns the domain in the settings of this shell, which `holt up` passes to the service. */
function domainOfShell(): string | undefined {
  const { HOLT_E2B_DOMAIN: domain } = process.env
  return domain === '' ? undefined : domain
}

/** Throws if the service does not answer clients of E2B. */
async function requireEntry(url: string): Promise<void> {
  const { status } = await fetch(new URL('/health', url), { signal: AbortSignal.timeout(answerTimeoutMs) })
  if (status === 204) return
  throw new Error(
    `The service at ${url} does not take clients of E2B. Set HOLT_E2B=on for it, or start it with: ${ourCommand()} up --e2b`,
  )
}
