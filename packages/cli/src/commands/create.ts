import type { NewRuntime } from '@holt/sdk'
import type { Command } from 'commander'
import { addCreateOptions, type CreateOptions, createBody } from '../arguments/create-options.ts'
import { addDeadlineOptions, type DeadlineOptions, deadlineFields } from '../arguments/deadline-options.ts'
import { connect } from '../connection/connect.ts'
import { print, printJson, say } from '../output/print.ts'
import { mib } from '../output/table.ts'
import { createRuntime } from '../running/create-runtime.ts'
import { printDryRun, reportProblems } from '../running/show-dry-run.ts'
import { act } from '../verb/verb.ts'

const examples = `
Examples:
  holt create -n mine
  holt create -t base-medium --disk 20 --metadata team=search
  holt create --timeout none --idle-timeout 10m         pauses without use, and resumes on use
  holt create --timeout 15m --on-timeout terminate
  holt create --snapshot before                         see holt snapshot
  holt create -t base-large --dry-run                   is there room? exits 1 if not
  id=$(holt create)`

/** Adds `holt create`. */
export function addCreate(program: Command): void {
  const command = addDeadlineOptions(addCreateOptions(program.command('create')), { of: 'made' })
    .description('create a runtime and print its id')
    .option('--dry-run', 'make nothing; print the result of a real call, or every reason for a refusal')
    .option('--json', 'print the runtime as JSON')
    .addHelpText('after', examples)
  act(command, async (options: CreateOptions & DeadlineOptions & { json?: boolean; dryRun?: boolean }) => {
    const body = { ...createBody(options), ...deadlineFields(options) }
    if (options.dryRun === true) return dryRun(body, { command, json: options.json === true })
    const runtime = await createRuntime(body)
    if (runtime === null) return 1
    if (options.json === true) {
      printJson(runtime)
      return 0
    }
    const { template, isolation, cpu, memory_mib, disk_mib } = runtime
    say(`Running: ${template.name}, ${isolation}, ${cpu} vCPU, ${mib(memory_mib)} memory, ${mib(disk_mib)} disk`)
    print(runtime.runtime_id)
    return 0
  })
}

async function dryRun(body: NewRuntime, { command, json }: { command: Command; json: boolean }): Promise<number> {
  const answer = await connect().runtimes.dryRun(body)
  if (json) printJson(answer)
  else printDryRun(answer)
  return reportProblems(answer, { command, refused: 'the create would be refused' })
}
