import type { Command } from 'commander'
import { addCreateOptions, type CreateOptions, createBody } from '../arguments/create-options.ts'
import { notNegative } from '../arguments/parse.ts'
import { createRuntime } from '../create-runtime.ts'
import { print, printJson, say } from '../output/print.ts'
import { mib } from '../output/table.ts'
import { act } from '../verb.ts'

const examples = `
Examples:
  holt create -n mine
  holt create -t base-medium --disk 20 --timeout 3600 --metadata team=search
  id=$(holt create)`

/** Adds `holt create`. */
export function addCreate(program: Command): void {
  const command = addCreateOptions(program.command('create'))
    .description('create a runtime and print its id')
    .option('--timeout <seconds>', 'the runtime ends this long after its creation', notNegative)
    .option('--json', 'print the runtime as JSON')
    .addHelpText('after', examples)
  act(command, async (options: CreateOptions & { timeout?: number; json?: boolean }) => {
    const deadline = options.timeout === undefined ? {} : { timeout_secs: options.timeout }
    const runtime = await createRuntime({ ...createBody(options), ...deadline })
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
