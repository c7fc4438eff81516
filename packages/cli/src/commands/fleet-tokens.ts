import type { Command } from 'commander'
import { doToEach } from '../arguments/do-to-each.ts'
import { addListOptions, type ListOptions } from '../arguments/list-options.ts'
import { wholeSecs } from '../arguments/parse.ts'
import { connect } from '../connection/connect.ts'
import { print, printJson, say } from '../output/print.ts'
import { printList } from '../output/print-list.ts'
import { ageOf } from '../output/table.ts'
import { act } from '../verb/verb.ts'

const examples = `
Put the token into a file that only the service of the worker can read, and set HOLT_ROLE=worker and HOLT_JOIN_TOKEN_FILE there.

Examples:
  (umask 077; holt fleet token --once > join-token)
  holt fleet token --ttl 7d`

/** Adds the verbs for the tokens with which workers join to `holt fleet`. */
export function addFleetTokens(group: Command): void {
  const token = group
    .command('token')
    .description('make a token with which workers join, and print it; it is shown only once')
    .option('--ttl <time>', 'how long workers can join with it: 90s, 30m, 2h, 1d (default: 1h)', wholeSecs)
    .option('--once', 'the first join uses it up')
    .option('--json', 'print the token as JSON')
    .addHelpText('after', examples)
  act(token, makeToken)

  const list = addListOptions(
    group.command('tokens').description('list the join tokens that have not ended, without their secrets'),
  )
  act(list, async (form: ListOptions) => {
    const tokens = await connect().hosts.listJoinTokens().all()
    return printList(tokens, form, {
      id: ({ token_id }) => token_id,
      columns: [
        ['TOKEN', ({ token_id }) => token_id],
        ['EXPIRES', ({ expires_at }) => expires_at],
        ['FOR', ({ once }) => (once ? 'one join' : 'any number of joins')],
        ['JOINS', ({ uses }) => String(uses)],
        ['AGE', ({ created_at }) => ageOf(created_at)],
      ],
    })
  })

  act(
    group
      .command('revoke')
      .description('revoke join tokens; workers that have joined with them stay')
      .argument('<joinToken...>', 'ids of tokens'),
    (tokens: string[]) =>
      doToEach(tokens, {}, async (id) => {
        await connect().hosts.revokeJoinToken(id)
        return { told: `Revoked ${id}` }
      }),
  )
}

async function makeToken({
  ttl,
  once = false,
  json = false,
}: {
  ttl?: number
  once?: boolean
  json?: boolean
}): Promise<number> {
  const wanted = { once, ...(ttl === undefined ? {} : { ttl_secs: ttl }) }
  const made = await connect().hosts.createJoinToken(wanted)
  if (json) {
    printJson(made)
    return 0
  }
  const joins = once ? 'One worker can join with it' : 'Workers can join with it'
  say(`Made ${made.token_id}. ${joins} until ${made.expires_at}. The token is shown only once:`)
  print(made.token)
  return 0
}
