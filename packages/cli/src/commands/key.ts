import { scopes } from '@holt/protocol'
import type { CreateKeyInput, NewKey, Scope } from '@holt/sdk'
import { type Command, Option } from 'commander'
import { findKeyId } from '../arguments/find-key.ts'
import { addListOptions, type ListOptions } from '../arguments/list-options.ts'
import { momentOf } from '../arguments/moment.ts'
import { seconds } from '../arguments/parse.ts'
import { addRemoveOptions, type RemoveOptions, removeEach } from '../arguments/remove-options.ts'
import { connect } from '../connection/connect.ts'
import { expiryText, overlapText } from '../output/key-times.ts'
import { print, printJson, say } from '../output/print.ts'
import { printList } from '../output/print-list.ts'
import { ageOf } from '../output/table.ts'
import { act } from '../verb/verb.ts'

const examples = `
Examples:
  holt key create ci
  holt key create reader --scope runtime:read --expires 2030-01-01
  holt key create team-admin --project team --scope admin
  holt key create job --expires 30d
  holt key create agents --format e2b
  holt key rotate ci --overlap 1d
  holt key rm team-admin --project team`

type KeyFormat = NonNullable<CreateKeyInput['format']>

/** Adds `holt key`, which manages the keys of the service. */
export function addKey(program: Command): void {
  const group = program
    .command('key')
    .description('manage API keys (needs a key with the scope admin)')
    .addHelpText('after', examples)
  const scope = new Option('-s, --scope <scope...>', 'its scopes (default: runtimes and templates)')
  const create = group
    .command('create')
    .description('make a key and print its secret, which is shown only once')
    .argument('<name>', 'a name or note of its purpose')
    .addOption(scope.choices([...scopes]))
    .option('--expires <when>', 'its expiry: 2030-01-01, 2030-01-01T12:00:00Z, or a duration: 30d, 2h')
    .option('--project <project>', 'its project (default: that of the key in use; needs the scope operator)')
    .addOption(new Option('--format <format>', 'the form of its secret (default: holt)').choices(['holt', 'e2b']))
    .option('--json', 'print the key as JSON')
  act(create, createKey)

  const rotate = group
    .command('rotate')
    .description('give a key a new secret and print it; the old one keeps working for the overlap')
    .argument('<key>', 'id of a key, or its name')
    .option('--project <project>', 'its project, if a name is given and it is in another project')
    .option('--overlap <time>', 'how long the old secret works: 90s, 30m, 2h, 1d, or none (default: 1h)', seconds)
    .option('--json', 'print the key as JSON')
  act(rotate, rotateKey)

  const list = addListOptions(
    group
      .command('ls')
      .description('list keys, without their secrets')
      .option('--project <project>', 'the project (needs the scope operator)'),
  )
  act(list, async ({ project, ...form }: ListOptions & { project?: string }) => {
    const keys = await connect()
      .keys.list({ limit: 100, ...(project === undefined ? {} : { project }) })
      .all()
    return printList(keys, form, {
      id: (one) => one.key_id,
      columns: [
        ['KEY', (key) => key.key_id],
        ['NAME', (key) => key.name],
        ['SECRET', (key) => `${key.prefix}…`],
        ['SCOPES', (key) => key.scopes.join(',')],
        ['EXPIRES', ({ expires_at }) => expiryText(expires_at)],
        ['EARLIER SECRET', ({ previous_until }) => overlapText(previous_until)],
        ['USED', (key) => (key.last_used_at === null ? 'never' : `${ageOf(key.last_used_at)} ago`)],
      ],
    })
  })

  const remove = addRemoveOptions(
    group.command('rm').description('revoke keys'),
    'key',
    'ids of keys, or their names',
  ).option('--project <project>', 'their project, if names are given and they are in another project')
  act(remove, (keys: string[], { project, ...options }: RemoveOptions & { project?: string }) =>
    removeEach(keys, { ...options, list: 'holt key ls' }, async (key) => {
      const holt = connect()
      const keyId = await findKeyId(holt, key, project)
      await holt.keys.revoke(keyId)
      return `Revoked ${key === keyId ? key : `${key} (${keyId})`}`
    }),
  )
}

async function createKey(
  name: string,
  options: { scope?: Scope[]; expires?: string; project?: string; format?: KeyFormat; json?: boolean },
): Promise<number> {
  const { scope: scopes, expires, project, format } = options
  const expiry = expires === undefined ? {} : { expires_at: momentOf('--expires', expires, 'ahead') }
  const place = project === undefined ? {} : { project }
  const form = format === undefined ? {} : { format }
  const wanted = { name, ...(scopes === undefined ? {} : { scopes }), ...expiry, ...place, ...form }
  const key = await connect().keys.create(wanted)
  tellSecret(key, options.json, `Made ${key.key_id} (${key.scopes.join(', ')}).`)
  return 0
}

async function rotateKey(
  text: string,
  { overlap, project, json }: { overlap?: number; project?: string; json?: boolean },
): Promise<number> {
  const holt = connect()
  const keyId = await findKeyId(holt, text, project)
  const key = await holt.keys.rotate(keyId, overlap === undefined ? {} : { overlap_secs: Math.ceil(overlap) })
  const until = key.previous_until === null ? 'no longer works' : `works until ${key.previous_until}`
  tellSecret(key, json, `Rotated ${key.key_id}: the earlier secret ${until}.`)
  return 0
}

function tellSecret(key: NewKey, json: boolean | undefined, what: string): void {
  if (json === true) {
    printJson(key)
    return
  }
  say(`${what} The secret is shown only once:`)
  print(key.key)
}
