import { type CreateProviderInput, HoltError, type Provider, type ReplaceProviderInput } from '@holt/sdk'
import { type Command, Option } from 'commander'
import { dropUndefined } from '../arguments/create-options.ts'
import { addListOptions, type ListOptions } from '../arguments/list-options.ts'
import { collected, seconds } from '../arguments/parse.ts'
import { readSecret } from '../arguments/read-secret.ts'
import { addRemove } from '../arguments/remove-options.ts'
import { connect } from '../connection/connect.ts'
import { printJson, say } from '../output/print.ts'
import { printList } from '../output/print-list.ts'
import { act, UsageError } from '../verb/verb.ts'

const examples = `
Examples:
  holt provider set corporate --type oauth2 --token-url https://login.example.com/token --client-id holt
  holt provider set cloud --type workload --audience sts.example.com
  holt secret set search --provider corporate --host api.example.com`

interface SetOptions {
  readonly type: Provider['settings']['type']
  readonly tokenUrl?: string
  readonly clientId?: string
  readonly scope?: string[]
  readonly audience?: string
  readonly authentication?: 'basic' | 'body'
  readonly ttl?: number
  readonly algorithm?: 'RS256' | 'ES256' | 'EdDSA'
  readonly fromEnv?: string
  readonly json?: boolean
}

/** Adds `holt provider`, which manages the sources of the values of secrets. */
export function addProvider(program: Command): void {
  const group = program
    .command('provider')
    .description(
      'manage identity providers, which make the values of secrets: OAuth, tokens of this service, or one shared value',
    )
    .addHelpText('after', examples)
  const set = group
    .command('set')
    .description(
      'store or replace a provider; its secret comes from stdin, a prompt or --from-env, never from an argument',
    )
    .argument('<name>', 'its name')
    .addOption(
      new Option('--type <type>', 'what it is').choices(['static', 'oauth2', 'workload']).makeOptionMandatory(),
    )
    .option('--token-url <url>', 'oauth2: the token endpoint')
    .option('--client-id <id>', 'oauth2: the client id')
    .option('--scope <scope>', 'oauth2: a scope of the token; repeatable', collected)
    .option('--audience <audience>', 'oauth2 and workload: the audience of the token')
    .addOption(new Option('--authentication <how>', 'oauth2: how the client secret is sent').choices(['basic', 'body']))
    .option('--ttl <duration>', 'workload: the lifetime of a token, 60 to 600', seconds)
    .addOption(
      new Option('--algorithm <name>', 'workload: the signature algorithm').choices(['RS256', 'ES256', 'EdDSA']),
    )
    .option('--from-env <variable>', 'read the value or the client secret from this environment variable')
    .option('--json', 'print the provider as JSON')
  act(set, setProvider)

  const list = addListOptions(group.command('ls').description('list providers'))
  act(list, async (form: ListOptions) => {
    const providers = await connect().secrets.providers.list({ limit: 100 }).all()
    return printList(providers, form, {
      id: (one) => one.provider_id,
      none: 'No providers. Store one: holt provider set NAME --type oauth2',
      columns: [
        ['PROVIDER', (provider) => provider.name],
        ['TYPE', (provider) => provider.settings.type],
        ['VERSION', (provider) => String(provider.version)],
        ['LAST ERROR', (provider) => provider.last_error?.message ?? ''],
      ],
    })
  })

  addRemove(group, { thing: 'provider', description: 'delete providers', how: 'names or ids' }, (holt, text) =>
    holt.secrets.providers.delete(text),
  )
}

async function setProvider(name: string, options: SetOptions): Promise<number> {
  const settings = await settingsOf(name, options)
  const { providers } = connect().secrets
  let provider: Provider
  try {
    provider = await providers.create({ name, ...settings } as CreateProviderInput)
  } catch (error) {
    if (!(error instanceof HoltError && error.code === 'name_taken')) throw error
    provider = await providers.replace(name, settings)
  }
  if (options.json === true) printJson(provider)
  else say(`${provider.name}, version ${provider.version}: ${provider.settings.type}`)
  return 0
}

async function settingsOf(name: string, options: SetOptions): Promise<ReplaceProviderInput> {
  const { type, audience, fromEnv } = options
  if (type === 'static') return { type, value: await readSecret(`value of ${name}`, fromEnv) }
  if (type === 'workload') {
    if (audience === undefined)
      throw new UsageError('A workload provider needs --audience: the audience of its tokens.')
    return { type, audience, ...dropUndefined({ ttl_secs: options.ttl, algorithm: options.algorithm }) }
  }
  const { tokenUrl, clientId, scope: scopes, authentication } = options
  if (tokenUrl === undefined || clientId === undefined)
    throw new UsageError('An oauth2 provider needs --token-url and --client-id.')
  const client_secret = await readSecret(`client secret of ${name}`, fromEnv)
  const more = dropUndefined({ scopes, audience, authentication })
  return { type, token_url: tokenUrl, client_id: clientId, client_secret, ...more }
}
