import { shownPath, type WatchItem } from '@holt/sdk'
import type { Command } from 'commander'
import { findRuntime } from '../arguments/find-runtime.ts'
import { parseRemote } from '../arguments/location.ts'
import { connect } from '../connection/connect.ts'
import { print, say } from '../output/print.ts'
import { printable } from '../output/visible.ts'
import { act } from '../verb/verb.ts'

const examples = `
The command runs until Ctrl-C, or until the directory is removed. It prints a line for each change: the kind of change and the path.

Examples:
  holt watch mine:/workspace
  holt watch mine:/workspace --no-recursive
  holt watch mine:/workspace --json | jq -r 'select(.type == "created").path'`

/** Adds `holt watch`, which shows the changes in a directory of a runtime. */
export function addWatch(program: Command): void {
  const command = program
    .command('watch')
    .description('print changes in a directory of a runtime')
    .argument('<location>', 'RUNTIME:/PATH of a directory')
    .option('--no-recursive', 'only its direct entries')
    .option('--json', 'print the items, one JSON object per line')
    .addHelpText('after', examples)
  act(command, async (text: string, { recursive, json = false }: { recursive: boolean; json?: boolean }) => {
    const { runtime: name, path } = parseRemote(text)
    const runtime = await findRuntime(connect(), name)
    for await (const item of runtime.files.watch(path, { recursive })) {
      if (json) print(JSON.stringify(item))
      else tell(item, path)
    }
    return 0
  })
}

const labels: Readonly<Record<Extract<WatchItem, { path: string }>['type'], string>> = {
  created: 'created   ',
  modified: 'modified  ',
  attributes: 'attributes',
  removed: 'removed   ',
  moved: 'moved     ',
}

function tell(item: WatchItem, path: string): void {
  if (item.type === 'start') say(`holt: watching ${printable(path)}`)
  else if (item.type === 'overflow') say('holt: changes were lost; read the directory again')
  else if (item.type === 'end') say(`holt: ${endings[item.reason ?? 'closed']}`)
  else if (item.type === 'moved')
    print(
      `${labels.moved}  ${nameOf(item.from, item.from_base64, item)} -> ${nameOf(item.path, item.path_base64, item)}`,
    )
  else print(`${labels[item.type]}  ${nameOf(item.path, item.path_base64, item)}`)
}

function nameOf(path: string, base64: string | undefined, { directory }: { directory: boolean }): string {
  const shown = base64 === undefined ? path : shownPath(Buffer.from(base64, 'base64'))
  return `${printable(shown)}${directory ? '/' : ''}`
}

const endings = {
  removed: 'the directory was removed',
  too_many_directories: 'there are too many directories to watch: choose a smaller tree, or use --no-recursive',
  closed: 'the watch has ended',
} as const
