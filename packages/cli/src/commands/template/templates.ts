import type { TemplateData } from '@holt/sdk'
import { type Command, Option } from 'commander'
import type { ListOptions } from '../../arguments/list-options.ts'
import { addRemove } from '../../arguments/remove-options.ts'
import { connect } from '../../connect.ts'
import { amount } from '../../copy/transfer-line.ts'
import { printFields } from '../../output/fields.ts'
import { print, printJson } from '../../output/print.ts'
import { ageOf, mib, printTable } from '../../output/table.ts'
import { act } from '../../verb.ts'

const listExamples = `
Examples:
  holt template ls
  holt template ls --kind agent --json`

const getExamples = `
Examples:
  holt template get base-small
  holt template get web:v2 --json`

const removeExamples = `
Runtimes that were made from it continue. Without a tag, \`latest\` is deleted.

Examples:
  holt template rm web
  holt template rm web:v1 web:v2`

/** Adds the verbs that list, show and delete templates. */
export function addTemplateReaders(group: Command): void {
  const list = group
    .command('ls')
    .description('list templates; those without a successful build need --all')
    .option('-a, --all', 'include templates without a successful build')
    .addOption(new Option('--kind <kind>', 'only of this kind').choices(['system', 'agent', 'custom']))
    .option('-q, --quiet', 'only the ids')
    .option('--json', 'print the list as JSON')
    .addHelpText('after', listExamples)
  act(
    list,
    async ({ kind, all = false, quiet, json }: ListOptions & { kind?: TemplateData['kind']; all?: boolean }) => {
      const filter = kind === undefined ? {} : { kind }
      const found = await connect()
        .templates.list({ limit: 100, ...filter })
        .all()
      const templates = all ? found : found.filter((one) => !hasNeverBeen(one))
      if (json === true) printJson({ data: templates, next_cursor: null })
      else if (quiet === true) for (const one of templates) print(one.template_id)
      else printTemplates(templates)
      return 0
    },
  )
  const get = group
    .command('get')
    .description('show a template')
    .argument('<template>', 'name, name:tag or id')
    .option('--json', 'print the template as JSON')
    .addHelpText('after', getExamples)
  act(get, async (text: string, { json }: { json?: boolean }) => {
    const template = await connect().templates.get(text)
    if (json === true) printJson(template)
    else printFields(template)
    return 0
  })
  addRemove(
    group,
    { thing: 'template', description: 'delete templates', how: 'names, name:tag or ids' },
    (holt, text) => holt.templates.delete(text),
  ).addHelpText('after', removeExamples)
}

/**
 * Returns true for a template of the project that no build has made. Its builds have the reason.
 */
function hasNeverBeen({ kind, state }: TemplateData): boolean {
  return kind === 'custom' && state === 'failed'
}

function printTemplates(templates: readonly TemplateData[]): void {
  printTable(templates, [
    ['TEMPLATE', ({ name, tag }) => labelOf(name, tag)],
    ['KIND', ({ kind }) => kind],
    ['STATE', ({ state }) => state],
    ['CPU', ({ cpu }) => String(cpu)],
    ['MEMORY', ({ memory_mib }) => mib(memory_mib)],
    ['DISK', ({ disk_mib }) => mib(disk_mib)],
    ['SIZE', ({ size_bytes }) => (size_bytes === null ? '' : amount(size_bytes))],
    ['CHANGED', ({ updated_at }) => `${ageOf(updated_at)} ago`],
    ['WHY', whyOf],
  ])
}

/** Returns the name of a template for people. */
export function labelOf(name: string, tag: string): string {
  return tag === 'latest' ? name : `${name}:${tag}`
}

function whyOf({ state_reason, progress }: TemplateData): string {
  if (progress !== null) return `${progress.phase} ${progress.done}/${progress.total}`
  return state_reason?.message ?? ''
}
