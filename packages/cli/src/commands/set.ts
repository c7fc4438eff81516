import type { UpdateRuntimeInput } from '@holt/sdk'
import type { Command } from 'commander'
import { addDeadlineOptions, type DeadlineOptions, deadlineFields } from '../arguments/deadline-options.ts'
import { findRuntime } from '../arguments/find-runtime.ts'
import { collected, keyValue } from '../arguments/parse.ts'
import { connect } from '../connection/connect.ts'
import { labelOf, nextOf } from '../output/describe-runtime.ts'
import { printJson, say } from '../output/print.ts'
import { act, UsageError } from '../verb/verb.ts'

interface SetOptions extends DeadlineOptions {
  readonly metadata?: Record<string, string>
  readonly dropMetadata?: string[]
  readonly json?: boolean
}

const examples = `
A timeout counts from now. For a paused runtime, it counts from the resume.

Examples:
  holt set mine --timeout 2h                       two hours from now
  holt set mine --timeout none --idle-timeout 10m  as long as it is used
  holt set mine --on-timeout terminate
  holt set mine -m team=search --drop-metadata ticket`

/** Adds `holt set`, which changes a runtime. */
export function addSet(program: Command): void {
  const command = program
    .command('set')
    .description('change the deadline and the labels of a runtime')
    .argument('<runtime>', 'id, beginning of an id, or name')
  addDeadlineOptions(command, { of: 'set' })
    .option('-m, --metadata <KEY=VALUE>', 'set a label; repeatable', keyValue)
    .option('--drop-metadata <KEY>', 'remove a label; repeatable', collected)
    .option('--json', 'print the runtime as JSON')
    .addHelpText('after', examples)
  act(command, setRuntime)
}

async function setRuntime(text: string, options: SetOptions): Promise<number> {
  const deadline = deadlineFields(options)
  if (Object.keys(deadline).length === 0 && options.metadata === undefined && options.dropMetadata === undefined)
    throw new UsageError('Give a change: --timeout, --on-timeout, --idle-timeout, --auto-resume or --metadata')
  const runtime = await findRuntime(connect(), text)
  await runtime.update({ ...deadline, ...labels(options) })
  if (options.json === true) printJson(runtime)
  else say(`Changed ${labelOf(runtime)}${nextOf(runtime) === '' ? '' : `: it ${nextOf(runtime)}`}`)
  return 0
}

/** Returns the labels that change. Others stay, also if somebody sets them meanwhile. */
function labels({ metadata, dropMetadata = [] }: SetOptions): Pick<UpdateRuntimeInput, 'metadata_patch'> {
  if (metadata === undefined && dropMetadata.length === 0) return {}
  return { metadata_patch: { ...metadata, ...Object.fromEntries(dropMetadata.map((key) => [key, null])) } }
}
