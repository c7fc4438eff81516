import type { BuildHandle, BuildLogItem, BuildLogLine } from '@holt/sdk'
import type { Command } from 'commander'
import { nameAndTag } from '../../arguments/build-options.ts'
import { findBuild } from '../../arguments/find-build.ts'
import { addListOptions, type ListOptions } from '../../arguments/list-options.ts'
import { addLogOptions, type LogOptions, selectedItems } from '../../arguments/log-options.ts'
import { duration, plainText } from '../../build/build-view.ts'
import { connect } from '../../connection/connect.ts'
import { print, printJson, say } from '../../output/print.ts'
import { printList } from '../../output/print-list.ts'
import { ageOf } from '../../output/table.ts'
import { act } from '../../verb/verb.ts'
import { labelOf } from './templates.ts'

const listExamples = `
Examples:
  holt template builds
  holt template builds web --json`

const logExamples = `
Examples:
  holt template logs web                  of its newest build
  holt template logs -f bd4f…             of another one, until it ends
  holt template logs web -n 20            its last 20 lines
  holt template logs web --json           its items, one JSON object per line`

const cancelExamples = `
Examples:
  holt template cancel web
  holt template cancel bd4f…`

/** Adds the verbs that list builds, show their logs and cancel them. */
export function addBuildReaders(group: Command): void {
  addLogs(group)
  const list = addListOptions(
    group
      .command('builds')
      .description('list builds, newest first')
      .argument('[template]', 'only of this template: name or name:tag'),
  ).addHelpText('after', listExamples)
  act(list, async (text: string | undefined, form: ListOptions) => {
    const builds = await buildsOf(text)
    return printList(builds, form, {
      id: ({ build_id }) => build_id,
      none: 'No builds. Begin one: holt template build -t NAME DIR',
      columns: [
        ['BUILD', ({ build_id }) => build_id],
        ['TEMPLATE', ({ name, tag }) => labelOf(name, tag)],
        ['STATUS', ({ status }) => status],
        ['TOOK', ({ duration_ms }) => (duration_ms === null ? '' : duration(duration_ms))],
        ['BEGUN', ({ created_at }) => `${ageOf(created_at)} ago`],
        ['WHY', ({ reason }) => (reason === null ? '' : `${reason.code}: ${reason.message.split('\n', 1)[0]}`)],
      ],
    })
  })
  const cancel = group
    .command('cancel')
    .description('cancel a build and remove its results')
    .argument('<build>', "a build's id, or a template for its newest build")
    .option('--json', 'print the build as JSON')
    .addHelpText('after', cancelExamples)
  act(cancel, async (text: string, { json }: { json?: boolean }) => {
    const build = await findBuild(connect(), text)
    await build.cancel()
    if (json === true) printJson(build)
    else say(`${build.build_id} of ${labelOf(build.name, build.tag)}: ${build.status}`)
    return 0
  })
}

function addLogs(group: Command): void {
  const shown = group
    .command('logs')
    .description("show a build's log")
    .argument('<build>', "a build's id, or a template for its newest build")
  const logs = addLogOptions(shown, 'the build has ended')
    .option('--json', "print the log's items, one JSON object per line")
    .addHelpText('after', logExamples)
  act(logs, async (text: string, { json, ...options }: LogOptions & { json?: boolean }) => {
    const selected = selectedItems<BuildLogItem>(options)
    const build = await findBuild(connect(), text)
    for await (const item of selected((how) => build.logs(how))) {
      if (json === true) print(JSON.stringify(item))
      else if (item.type === 'log') print(lineOf(item))
      else if (item.type === 'gap') say(`holt: ${item.lost} lines are no longer kept`)
    }
    return 0
  })
}

async function buildsOf(text: string | undefined): Promise<readonly BuildHandle[]> {
  const { builds } = connect()
  if (text === undefined) return builds.list({ limit: 100 }).all()
  const { name, tag } = nameAndTag(text)
  const all = await builds.list({ name, limit: 100 }).all()
  return all.filter((build) => tag === undefined || build.tag === tag)
}

function lineOf({ level, step, message }: BuildLogLine): string {
  return `${step === null ? '' : `#${step} `}${level === 'info' ? '' : `${level}: `}${plainText(message)}`
}
