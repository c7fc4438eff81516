import { type Command, Option } from 'commander'
import { findRuntime } from '../arguments/find-runtime.ts'
import { addListOptions, type ListOptions } from '../arguments/list-options.ts'
import { connect } from '../connection/connect.ts'
import { printList } from '../output/print-list.ts'
import { ageOf } from '../output/table.ts'
import { act } from '../verb/verb.ts'

const examples = `
Examples:
  holt ps mine
  holt ps mine --state running --json`

/** Adds `holt ps`, which lists the commands of a runtime. */
export function addPs(program: Command): void {
  const command = addListOptions(
    program
      .command('ps')
      .description("list a runtime's commands, newest first")
      .argument('<runtime>', 'id, beginning of an id, or name')
      .addOption(new Option('-s, --state <state>', 'only this state').choices(['running', 'exited'])),
  ).addHelpText('after', examples)
  act(command, async (text: string, { state, ...form }: ListOptions & { state?: 'running' | 'exited' }) => {
    const runtime = await findRuntime(connect(), text)
    const commands = await runtime.commands.list({ limit: 100, ...(state === undefined ? {} : { state }) }).all()
    return printList(commands, form, {
      id: (one) => one.command_id,
      none: 'No commands.',
      columns: [
        ['COMMAND', (one) => one.command_id],
        ['PID', (one) => String(one.pid)],
        ['STATE', (one) => one.state],
        ['EXIT', (one) => (one.timed_out ? 'timed out' : String(one.exit_code ?? ''))],
        ['TERMINAL', (one) => (one.pty === null ? '' : `${one.pty.cols}x${one.pty.rows}`)],
        ['USER', (one) => one.user],
        ['AGE', (one) => ageOf(one.started_at)],
        ['LINE', (one) => shortened(one.command ?? (one.argv ?? []).join(' '))],
      ],
    })
  })
}

function shortened(line: string): string {
  return line.length > 60 ? `${line.slice(0, 59)}…` : line
}
