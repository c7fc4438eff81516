import type { Command } from 'commander'
import { findRuntime } from '../arguments/find-runtime.ts'
import { connect } from '../connection/connect.ts'
import { printFields } from '../output/fields.ts'
import { printJson } from '../output/print.ts'
import { act } from '../verb/verb.ts'

const examples = `
Examples:
  holt get mine
  holt get mine --json | jq -r .state`

/** Adds `holt get`, which shows one runtime. */
export function addGet(program: Command): void {
  const command = program
    .command('get')
    .description('show a runtime')
    .argument('<runtime>', 'id, beginning of an id, or name')
    .option('--json', 'print the runtime as JSON')
    .addHelpText('after', examples)
  act(command, async (text: string, { json }: { json?: boolean }) => {
    const runtime = await findRuntime(connect(), text)
    if (json === true) printJson(runtime)
    else {
      // The place of the service is the same for all of its runtimes, so only --json has it.
      const { cloud: _cloud, region: _region, ...fields } = runtime.toJSON()
      printFields(fields)
    }
    return 0
  })
}
