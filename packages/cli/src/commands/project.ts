import { type Project, quotaNames, type SetQuotas } from '@holt/protocol'
import type { Command } from 'commander'
import { addListOptions, type ListOptions } from '../arguments/list-options.ts'
import { quota, quotaFlag, quotaHelp } from '../arguments/quota.ts'
import { addRemove } from '../arguments/remove-options.ts'
import { connect } from '../connection/connect.ts'
import { print, printJson } from '../output/print.ts'
import { printList } from '../output/print-list.ts'
import { quotaLines, tightestQuota } from '../output/quota-lines.ts'
import { ageOf, printTable } from '../output/table.ts'
import { act, UsageError } from '../verb/verb.ts'

const examples = `
Examples:
  holt project create team --quota runtimes=20 memory_mib=64GiB requests_per_sec=50
  holt key create team-ci --project team --scope runtime:read runtime:write
  holt project set team --quota runtimes=none cpu=default
  holt project rm team`

interface Quoted {
  readonly quota?: SetQuotas
  readonly json?: boolean
}

/** Adds `holt project`, which manages projects. */
export function addProject(program: Command): void {
  const group = program
    .command('project')
    .description('manage the projects of this installation (needs a key with the scope operator)')
    .addHelpText('after', examples)

  const create = group
    .command('create')
    .description('make a project; `holt key create --project` makes its first key')
    .argument('<name>', 'its name')
    .option(quotaFlag, quotaHelp, quota)
    .option('--json', 'print the project as JSON')
  act(create, async (name: string, { quota: quotas = {}, json }: Quoted) => {
    show(await connect().projects.create({ name, quotas }), json)
    return 0
  })

  const list = addListOptions(group.command('ls').description('list projects'))
  act(list, async (form: ListOptions) => {
    const projects = await connect().projects.list({ limit: 100 }).all()
    return printList(projects, form, {
      id: (one) => one.project_id,
      columns: [
        ['NAME', (project) => project.name],
        ['PROJECT', (project) => project.project_id],
        ['RUNTIMES', ({ use, quotas }) => `${use.runtimes}/${quotas.runtimes ?? '-'}`],
        ['PAUSED', ({ use, quotas }) => `${use.paused_runtimes}/${quotas.paused_runtimes ?? '-'}`],
        ['TIGHTEST', ({ use, quotas }) => tightestQuota(quotas, use)],
        ['AGE', (project) => ageOf(project.created_at)],
      ],
    })
  })

  const get = group
    .command('get')
    .description('show a project, its quotas and its usage')
    .argument('<project>', 'name or id')
    .option('--json', 'print the project as JSON')
  act(get, async (project: string, { json }: { json?: boolean }) => {
    show(await connect().projects.get(project), json)
    return 0
  })

  const set = group
    .command('set')
    .description('change the quotas or the name of a project')
    .argument('<project>', 'name or id')
    .option(quotaFlag, quotaHelp, quota)
    .option('--name <name>', 'its new name')
    .option('--json', 'print the project as JSON')
  act(set, async (project: string, { quota: quotas = {}, name, json }: Quoted & { name?: string }) => {
    if (name === undefined && Object.keys(quotas).length === 0)
      throw new UsageError(`Give a change: --name, or --quota with ${quotaNames.join(', ')}`)
    const change = name === undefined ? { quotas } : { quotas, name }
    show(await connect().projects.update(project, change), json)
    return 0
  })

  addRemove(
    group,
    {
      thing: 'project',
      description: 'delete projects that have nothing any more; their keys go with them',
      how: 'names or ids',
    },
    (holt, text) => holt.projects.delete(text),
  )
}

function show(project: Project, json: boolean | undefined): void {
  if (json === true) {
    printJson(project)
    return
  }
  print(`project    ${project.name} (${project.project_id}), ${ageOf(project.created_at)} old`)
  printTable(quotaLines(project.quotas, project.use), [
    ['QUOTA', ({ name }) => name],
    ['USED', ({ used }) => used],
    ['LIMIT', ({ limit }) => limit],
  ])
}
