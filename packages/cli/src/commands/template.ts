import type { Template } from '@holt/sdk'
import type { Command } from 'commander'
import { connect } from '../connect.ts'
import { print, printJson } from '../output/print.ts'
import { printable } from '../output/report-error.ts'
import { mib, printTable } from '../output/table.ts'
import { act } from '../verb.ts'

const examples = `
Examples:
  holt template ls
  holt template get base-small --json`

/** Adds `holt template`: the images runtimes are made from. */
export function addTemplate(program: Command): void {
  const group = program
    .command('template')
    .description('the images that runtimes are made from')
    .addHelpText('after', examples)
  const list = group.command('ls').description('list templates').option('--json', 'print the list as JSON')
  act(list, async ({ json }: { json?: boolean }) => {
    const templates = await connect().templates.list({ limit: 100 }).all()
    if (json === true) printJson({ data: templates, next_cursor: null })
    else {
      printTable(templates, [
        ['TEMPLATE', (template) => template.name],
        ['STATE', (template) => template.state],
        ['CPU', (template) => String(template.cpu)],
        ['MEMORY', (template) => mib(template.memory_mib)],
        ['DISK', (template) => mib(template.disk_mib)],
        ['WHY', (template) => whyOf(template)],
      ])
    }
    return 0
  })
  const get = group
    .command('get')
    .description('show a template')
    .argument('<template>', 'name, name:tag or id')
    .option('--json', 'print the template as JSON')
  act(get, async (text: string, { json }: { json?: boolean }) => {
    const template = await connect().templates.get(text)
    if (json === true) printJson(template)
    else
      for (const [name, value] of Object.entries(template))
        print(`${name.padEnd(18)} ${printable(typeof value === 'string' ? value : JSON.stringify(value))}`)
    return 0
  })
}

function whyOf({ state_reason, progress }: Template): string {
  if (progress !== null) return `${progress.phase} ${progress.done}/${progress.total}`
  return state_reason?.message ?? ''
}
