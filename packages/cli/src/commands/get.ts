import type { Command } from 'commander'
import { findRuntime } from '../arguments/find-runtime.ts'
import { connect } from '../connect.ts'
import { print, printJson } from '../output/print.ts'
import { printable } from '../output/report-error.ts'
import { act } from '../verb.ts'

const examples = `
Examples:
  holt get mine
  holt get mine --json | jq -r .state`

/** Adds `holt get`: one runtime. */
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
    else for (const [name, value] of Object.entries(runtime.toJSON())) print(`${name.padEnd(18)} ${shown(value)}`)
    return 0
  })
}

function shown(value: unknown): string {
  if (value === null) return '-'
  return printable(typeof value === 'string' ? value : JSON.stringify(value))
}
