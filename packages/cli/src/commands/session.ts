import type { Command } from 'commander'
import { findRuntime } from '../arguments/find-runtime.ts'
import { addListOptions, type ListOptions } from '../arguments/list-options.ts'
import { addRemoveOptions, type RemoveOptions, removeEach } from '../arguments/remove-options.ts'
import { connect } from '../connection/connect.ts'
import { printList } from '../output/print-list.ts'
import { ageOf } from '../output/table.ts'
import { shellWord } from '../shell/shell-word.ts'
import { act } from '../verb/verb.ts'

const examples = `
Examples:
  holt exec --session dev mine -- cd /workspace/project     (a session is made by its first command)
  holt session ls mine
  holt session rm mine dev`

/**
 * Adds `holt session`, which manages the shells of a runtime whose directory and variables carry
 * over.
 */
export function addSession(program: Command): void {
  const group = program
    .command('session')
    .description('manage sessions: shells that keep their directory and variables between commands')
    .addHelpText('after', examples)
  const list = addListOptions(
    group
      .command('ls')
      .description("list a runtime's sessions, newest first")
      .argument('<runtime>', 'id, beginning of an id, or name'),
    { only: 'names' },
  )
  act(list, async (text: string, form: ListOptions) => {
    const runtime = await findRuntime(connect(), text)
    const sessions = await runtime.commands.sessions({ limit: 100 }).all()
    return printList(sessions, form, {
      id: (one) => one.name,
      none: 'No sessions.',
      columns: [
        ['SESSION', (one) => one.name],
        ['SHELL', (one) => one.shell],
        ['USER', (one) => one.user],
        ['COMMANDS', (one) => String(one.commands)],
        ['RUNS', (one) => one.command_id ?? ''],
        ['USED', (one) => ageOf(one.last_used_at)],
        ['DIRECTORY', (one) => one.cwd],
      ],
    })
  })
  const end = addRemoveOptions(
    group
      .command('rm')
      .description('end sessions, and kill the processes that their commands left running')
      .argument('<runtime>', 'id, beginning of an id, or name'),
    'session',
    'names of sessions',
  )
  act(end, async (text: string, names: readonly string[], options: RemoveOptions) => {
    const runtime = await findRuntime(connect(), text)
    return removeEach(names, { ...options, list: `holt session ls ${shellWord(text)}` }, async (name) => {
      await runtime.commands.session(name).end()
      return `Ended ${name}`
    })
  })
}
