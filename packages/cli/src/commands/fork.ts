import type { Command } from 'commander'
import { dropUndefined } from '../arguments/create-options.ts'
import { addDeadlineOptions, type DeadlineOptions, deadlineFields } from '../arguments/deadline-options.ts'
import { findRuntime } from '../arguments/find-runtime.ts'
import { count, keyValue } from '../arguments/parse.ts'
import { connect } from '../connection/connect.ts'
import { reportError } from '../errors/report-error.ts'
import { print, printJson, say } from '../output/print.ts'
import { whileWaiting } from '../output/while-waiting.ts'
import { printDryRun, reportProblems } from '../running/show-dry-run.ts'
import { act } from '../verb/verb.ts'

interface ForkOptions extends DeadlineOptions {
  readonly count: number
  readonly metadata?: Record<string, string>
  readonly recordFiles?: boolean
  readonly json?: boolean
  readonly dryRun?: boolean
}

const examples = `
Each child starts from the present state of the runtime: processes, memory and files. It has its own id, hostname and random numbers. The runtime
continues. Its connections to other hosts are reset, and the children have none. Exits 1 if a child could not be made; the others exist.

Examples:
  child=$(holt fork mine)
  holt fork mine --count 20 --dry-run                   is there room for all? exits 1 if not
  for id in $(holt fork mine --count 3 -m try=1); do holt exec $id -- ./attempt & done; wait
  child=$(holt fork mine --record-files)                then: holt diff $child
  holt rm $(holt ls -q -m try=1)`

/** Adds `holt fork`. */
export function addFork(program: Command): void {
  const command = program
    .command('fork')
    .description('fork a runtime: make children from its present state, and print their ids')
    .argument('<runtime>', 'id, beginning of an id, or name')
    .option('-c, --count <children>', 'how many children, 1 to 100', count, 1)
    .option('-m, --metadata <KEY=VALUE>', "a label of the children, instead of the source's; repeatable", keyValue)
  addDeadlineOptions(command, { of: 'forked' })
    .option('--record-files', 'let holt diff compare the children with the fork; takes time by the number of files')
    .option('--dry-run', 'make nothing; print the result of a real call, or every reason for a refusal')
    .option('--json', 'print the result for each child as JSON')
    .addHelpText('after', examples)
  act(command, (text: string, options: ForkOptions) => forkRuntime(text, { options, command }))
}

async function forkRuntime(
  text: string,
  { options, command }: { options: ForkOptions; command: Command },
): Promise<number> {
  const { count: wanted, metadata, recordFiles, json } = options
  const runtime = await findRuntime(connect(), text)
  const body = { count: wanted, ...dropUndefined({ metadata, record_files: recordFiles }), ...deadlineFields(options) }
  if (options.dryRun === true) {
    const answer = await runtime.dryRunFork(body)
    if (json === true) printJson(answer)
    else printDryRun(answer)
    const refused = `${answer.children} of ${answer.count} children would be made`
    return reportProblems(answer, { command, refused })
  }
  const fork = await whileWaiting(`Forking ${text}`, () => runtime.fork(body))
  if (json === true) printJson(fork)
  else for (const child of fork.runtimes) print(child.runtime_id)
  for (const error of fork.errors) reportError(error)
  if (fork.errors.length > 0) say(`holt: ${fork.errors.length} of ${wanted} children could not be made`)
  return fork.errors.length === 0 ? 0 : 1
}
