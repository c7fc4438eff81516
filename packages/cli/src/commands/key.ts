import { scopes } from '@holt/protocol'
import type { Scope } from '@holt/sdk'
import { type Command, Option } from 'commander'
import { connect } from '../connect.ts'
import { print, printJson, say } from '../output/print.ts'
import { ageOf, printTable } from '../output/table.ts'
import { act, UsageError } from '../verb.ts'

const examples = `
Examples:
  holt key create ci
  holt key create reader --scope runtime:read --expires 2030-01-01
  holt key rm ky…`

/** Adds `holt key`: who may use the service. */
export function addKey(program: Command): void {
  const group = program
    .command('key')
    .description('the keys that open the service (needs a key with the scope admin)')
    .addHelpText('after', examples)
  const scope = new Option('-s, --scope <scope...>', 'what it may do (default: runtimes and templates)')
  const create = group
    .command('create')
    .description('make a key and print its secret, which is shown this once')
    .argument('<name>', 'what it is for')
    .addOption(scope.choices([...scopes]))
    .option('--expires <date>', 'until when it works: 2030-01-01 or 2030-01-01T12:00:00Z')
    .option('--json', 'print the key as JSON')
  act(create, createKey)

  const list = group
    .command('ls')
    .description('list keys, without their secrets')
    .option('--json', 'print the list as JSON')
  act(list, async ({ json }: { json?: boolean }) => {
    const keys = await connect().keys.list({ limit: 100 }).all()
    if (json === true) printJson({ data: keys, next_cursor: null })
    else {
      printTable(keys, [
        ['KEY', (key) => key.key_id],
        ['NAME', (key) => key.name],
        ['SECRET', (key) => `${key.prefix}…`],
        ['SCOPES', (key) => key.scopes.join(',')],
        ['EXPIRES', (key) => key.expires_at ?? 'never'],
        ['USED', (key) => (key.last_used_at === null ? 'never' : `${ageOf(key.last_used_at)} ago`)],
      ])
    }
    return 0
  })

  const remove = group.command('rm').description('revoke keys').argument('<key...>', 'ids of keys')
  act(remove, async (keyIds: string[]) => {
    const holt = connect()
    for (const keyId of keyIds) {
      await holt.keys.revoke(keyId)
      say(`Revoked ${keyId}`)
    }
    return 0
  })
}

async function createKey(
  name: string,
  options: { scope?: Scope[]; expires?: string; json?: boolean },
): Promise<number> {
  const { scope: scopes, expires } = options
  const expiry = expires === undefined ? {} : { expires_at: momentOf(expires) }
  const key = await connect().keys.create({ name, ...(scopes === undefined ? {} : { scopes }), ...expiry })
  if (options.json === true) {
    printJson(key)
    return 0
  }
  say(`Made ${key.key_id} (${key.scopes.join(', ')}). The secret is shown this once:`)
  print(key.key)
  return 0
}

function momentOf(text: string): string {
  const moment = new Date(text)
  if (Number.isNaN(moment.getTime())) throw new UsageError(`--expires ${text} is not a date such as 2030-01-01`)
  return moment.toISOString()
}
