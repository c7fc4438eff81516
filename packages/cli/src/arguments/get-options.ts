import type { Holt } from '@holt/sdk'
import type { Command } from 'commander'
import { connect } from '../connection/connect.ts'
import { printFields } from '../output/fields.ts'
import { printJson } from '../output/print.ts'
import { act } from '../verb/verb.ts'

/** Adds `get` to a group of commands: `holt THING get`. Returns the new command. */
export function addGetOf(
  group: Command,
  { thing, how }: { readonly thing: string; readonly how: string },
  get: (holt: Holt, text: string) => Promise<object>,
): Command {
  const command = group
    .command('get')
    .description(`show a ${thing}`)
    .argument(`<${thing}>`, how)
    .option('--json', `print the ${thing} as JSON`)
  return act(command, async (text: string, { json }: { json?: boolean }) => {
    const found = await get(connect(), text)
    if (json === true) printJson(found)
    else printFields(found)
    return 0
  })
}
