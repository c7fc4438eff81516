import { minRedactedSecretLength } from '@holt/protocol'
import type { CreateSecretInput } from '@holt/sdk'
import type { Command } from 'commander'
import { dropUndefined } from '../arguments/create-options.ts'
import { addListOptions, type ListOptions } from '../arguments/list-options.ts'
import { collected } from '../arguments/parse.ts'
import { readSecret } from '../arguments/read-secret.ts'
import { addRemove } from '../arguments/remove-options.ts'
import { connect } from '../connection/connect.ts'
import { printJson, say } from '../output/print.ts'
import { printList } from '../output/print-list.ts'
import { ageOf } from '../output/table.ts'
import { act, UsageError } from '../verb/verb.ts'

const examples = `
Examples:
  holt secret set anthropic                               asks for the value, without showing it
  pass show openai | holt secret set openai
  holt secret set stripe --host api.stripe.com --from-env STRIPE_KEY
  holt secret set search --host api.example.com --header x-api-key --provider corporate
  holt run --include anthropic --secret anthropic -- sh -c 'echo $ANTHROPIC_API_KEY'    (a placeholder)`

/** The risk of a short value, and the remedy. */
const shortWarning = `Warning: the value has fewer than ${minRedactedSecretLength} characters, so the gateway does not mask it if a host sends it back. Use a longer value if you can.`

interface SetOptions {
  readonly host?: string[]
  readonly header?: string
  readonly format?: string
  readonly fromEnv?: string
  readonly provider?: string
  readonly env?: boolean
  readonly envName?: string
  readonly json?: boolean
}

/**
 * Adds `holt secret`, which manages values that the gateway inserts and that runtimes never have.
 */
export function addSecret(program: Command): void {
  const group = program
    .command('secret')
    .description('manage secrets: values that runtimes use and never see')
    .addHelpText('after', examples)
  const set = group
    .command('set')
    .description(
      'store a secret, or a new version of it; the value comes from stdin, a prompt or --from-env, never from an argument',
    )
    .argument('<name>', 'anthropic, openai and google need no other option')
    .option('--host <host>', 'a host that it is sent to, or *.host; repeatable', collected)
    .option('--header <header>', 'the header that carries it (default: authorization)')
    .option(
      '--format <format>',
      'the content of the header (default: "Bearer {value}", or "{value}" with another header)',
    )
    .option('--from-env <variable>', 'read the value from this environment variable')
    .option('--provider <provider>', 'get it from an identity provider on each use')
    .option('--env', 'put the real value into runtimes, where everything inside can read it')
    .option('--env-name <variable>', 'the variable in runtimes (default: the name in capitals)')
    .option('--json', 'print the secret as JSON')
  act(set, setSecret)

  const list = addListOptions(group.command('ls').description('list secrets, without their values'))
  act(list, async (form: ListOptions) => {
    const secrets = await connect().secrets.list({ limit: 100 }).all()
    return printList(secrets, form, {
      id: (one) => one.secret_id,
      none: 'No secrets. Store one: holt secret set NAME --host HOST',
      columns: [
        ['SECRET', (secret) => secret.name],
        ['VERSION', (secret) => String(secret.version)],
        ['HOSTS', (secret) => (secret.env ? 'inside runtimes' : secret.hosts.join(','))],
        ['HEADER', (secret) => secret.header ?? ''],
        ['VARIABLE', (secret) => secret.env_name],
        ['FROM', (secret) => secret.provider?.name ?? 'stored'],
        ['CHANGED', (secret) => `${ageOf(secret.updated_at)} ago`],
      ],
    })
  })

  addRemove(
    group,
    { thing: 'secret', description: 'delete secrets; it acts at once', how: 'names or ids' },
    (holt, text) => holt.secrets.delete(text),
  )
  const rotate = group.command('rotate-key').description('encrypt all secrets again under a new key (scope admin)')
  act(rotate, async () => {
    say(`Encrypted ${await connect().secrets.rotateKey()} values anew`)
    return 0
  })
}

async function setSecret(name: string, options: SetOptions): Promise<number> {
  const { host: hosts, header, format, provider, env, envName: env_name, fromEnv } = options
  if (provider !== undefined && fromEnv !== undefined)
    throw new UsageError('--provider makes the value: leave --from-env out')
  const value = provider === undefined ? await readSecret(`value of ${name}`, fromEnv) : undefined
  const body: CreateSecretInput = { name, ...dropUndefined({ value, provider, hosts, header, format, env, env_name }) }
  const secret = await connect().secrets.set(body)
  if (value !== undefined && !secret.env && value.length < minRedactedSecretLength) say(shortWarning)
  if (options.json === true) printJson(secret)
  else say(`${secret.name}, version ${secret.version}: ${placeOf(secret)}`)
  return 0
}

function placeOf(secret: { env: boolean; env_name: string; hosts: readonly string[]; header: string | null }): string {
  if (secret.env) return `runtimes that request it have the value itself in ${secret.env_name}`
  return `put into ${secret.header} for ${secret.hosts.join(', ')}; runtimes have a placeholder in ${secret.env_name}`
}
