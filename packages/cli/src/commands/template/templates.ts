import type { TemplateData } from '@holt/sdk'
import { type Command, Option } from 'commander'
import { addGetOf } from '../../arguments/get-options.ts'
import { addListOptions, type ListOptions } from '../../arguments/list-options.ts'
import { addRemove } from '../../arguments/remove-options.ts'
import { connect } from '../../connection/connect.ts'
import { amount } from '../../copy/transfer-line.ts'
import { printList } from '../../output/print-list.ts'
import { ageOf, mib } from '../../output/table.ts'
import { act } from '../../verb/verb.ts'

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
  const list = addListOptions(
    group
      .command('ls')
      .description('list templates; those without a successful build need --all')
      .option('-a, --all', 'include templates without a successful build')
      .addOption(new Option('--kind <kind>', 'only of this kind').choices(['system', 'agent', 'custom'])),
  ).addHelpText('after', listExamples)
  act(list, async ({ kind, all = false, ...form }: ListOptions & { kind?: TemplateData['kind']; all?: boolean }) => {
    const filter = kind === undefined ? {} : { kind }
    const found = await connect()
      .templates.list({ limit: 100, ...filter })
      .all()
    const templates = all ? found : found.filter((one) => !hasNeverBeen(one))
    return printList(templates, form, {
      id: ({ template_id }) => template_id,
      columns: [
        ['TEMPLATE', ({ name, tag }) => labelOf(name, tag)],
        ['KIND', (template) => template.kind],
        ['STATE', ({ state }) => state],
        ['CPU', ({ cpu }) => String(cpu)],
        ['MEMORY', ({ memory_mib }) => mib(memory_mib)],
        ['DISK', ({ disk_mib }) => mib(disk_mib)],
        ['SIZE', ({ size_bytes }) => (size_bytes === null ? '' : amount(size_bytes))],
        ['CHANGED', ({ updated_at }) => `${ageOf(updated_at)} ago`],
        ['WHY', whyOf],
      ],
    })
  })
  addGetOf(group, { thing: 'template', how: 'name, name:tag or id' }, (holt, text) =>
    holt.templates.get(text),
  ).addHelpText('after', getExamples)
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

/** Returns the name of a template for people. */
export function labelOf(name: string, tag: string): string {
  return tag === 'latest' ? name : `${name}:${tag}`
}

function whyOf({ state_reason, progress }: TemplateData): string {
  if (progress !== null) return `${progress.phase} ${progress.done}/${progress.total}`
  return state_reason?.message ?? ''
}
