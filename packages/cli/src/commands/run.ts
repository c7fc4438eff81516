import { type CommandResult, type CreateRuntimeInput, HoltError } from '@holt/sdk'
import type { Command } from 'commander'
import { addCreateOptions, type CreateOptions, createBody, dropUndefined } from '../arguments/create-options.ts'
import {
  addDeadlineOptions,
  type DeadlineOptions,
  type Duration,
  deadlineFields,
} from '../arguments/deadline-options.ts'
import { seconds } from '../arguments/parse.ts'
import { type Ulimits, ulimit } from '../arguments/ulimit.ts'
import type { PictureMode } from '../code/pictures.ts'
import type { AttachedCode } from '../code/run-code.ts'
import { reportError } from '../errors/report-error.ts'
import { printJson, say } from '../output/print.ts'
import { createRuntime } from '../running/create-runtime.ts'
import { exitCodeOf, explainingLines, failureExitCode, runAttached } from '../running/run-attached.ts'
import { OutputTail, tellOfDenials } from '../running/tell-of-denials.ts'
import { shellWord } from '../shell/shell-word.ts'
import { Interrupts, interruptedExitCode } from '../verb/interrupts.ts'
import { act, holtFailedExitCode, UsageError } from '../verb/verb.ts'
import { addPictureOptions, languageOf, readCode } from './code.ts'

interface RunOptions extends CreateOptions, Omit<DeadlineOptions, 'timeout'> {
  readonly rm: boolean
  readonly runtimeTimeout?: Duration
  readonly user?: string
  readonly cwd?: string
  readonly timeout: number
  readonly ulimit?: Ulimits
  readonly code?: string
  readonly language?: string
  readonly pictures: PictureMode
  readonly pictureDir: string
  readonly json?: boolean
}

const examples = `
Examples:
  holt run -- python -c 'print(6 * 7)'
  holt run --memory 2 -e DEBUG=1 -- sh -c 'make && make test'
  cat script.py | holt run --timeout 30 -- python -
  holt run --code plot.py --picture-dir figures     (in the template code-interpreter)
  holt run -t claude-code --secret anthropic -- claude -p 'hello'
  holt run --no-rm -n mine -- npm --version   (keeps the runtime; see holt exec)`

/**
 * The time after the command's own limit at which a runtime ends by itself if nobody deleted it, in
 * seconds.
 */
const runtimeMarginSecs = 600

/** The template with a code interpreter. */
const codeTemplate = 'code-interpreter'

/** Adds `holt run`, which creates a runtime, runs a command and deletes the runtime. */
export function addRun(program: Command, passThrough: boolean): void {
  const made = addCreateOptions(program.command('run'))
  const command = addDeadlineOptions(made, { of: 'made', timeout: '--runtime-timeout' })
    .description('run a command in a new runtime, then delete the runtime')
    .argument('[command...]', 'the command and its arguments, after --')
    .option('--code <file>', 'run the code of a file of this machine instead; -: of stdin (see holt code)')
    .option('-l, --language <language>', 'the language of --code (default: by the ending of the file, else python)')
    .option('--no-rm', 'keep the runtime afterwards')
    .option('-u, --user <user>', "user name, uid or uid:gid (default: the template's)")
    .option('-w, --cwd <path>', "working directory (default: the template's)")
    .option('--ulimit <name=soft[:hard]>', 'a resource limit, as of ulimit(1); repeatable', ulimit)
    .option('--timeout <duration>', 'kill the command after this time: 90, 30m, 2h; 0: never', seconds, 0)
  addPictureOptions(command)
    .option('--json', "print the command's result as JSON instead of its output")
    .addHelpText('after', examples)
    .passThroughOptions(passThrough)
  act(
    command,
    (argv: string[], options: RunOptions) => explainingLines(argv, 'holt run', () => runInNewRuntime(argv, options)),
    {
      failure: failureExitCode,
    },
  )
}

async function runInNewRuntime(argv: string[], options: RunOptions): Promise<number> {
  const { code: file } = options
  if ((file === undefined) === (argv.length === 0))
    throw new UsageError('Give a command after --, or a file with --code.')
  const code = file === undefined ? null : await readCode(file)
  using interrupts = new Interrupts()
  const runtime = await createRuntime({ ...bodyOf(options), ...deadlineOf(options) })
  if (runtime === null) return interrupts.first === null ? holtFailedExitCode : interruptedExitCode
  try {
    if (interrupts.first !== null) return interruptedExitCode
    if (code !== null) return await runCode({ runtime, code, interrupts }, options)
    const how = dropUndefined({
      user: options.user,
      cwd: options.cwd,
      timeout_secs: options.timeout,
      rlimits: options.ulimit,
    })
    if (options.json !== true)
      return await runAttached({ runtime, command: argv, options: how, interrupts, isOwn: true })
    const result: CommandResult = await runtime.commands.run(argv, how)
    printJson(result)
    const exitCode = exitCodeOf(result)
    if (exitCode !== 0) {
      const output = new OutputTail(result.stdout + result.stderr)
      await tellOfDenials({ runtime, startedAt: null, output })
    }
    return exitCode
  } finally {
    if (options.rm) await runtime.delete().catch((error: unknown) => tellKept(runtime.runtime_id, error))
    else say(`holt: kept the runtime ${runtime.name ?? runtime.runtime_id}`)
  }
}

/** Returns the body of the create. Code needs a template with an interpreter. */
function bodyOf(options: RunOptions): CreateRuntimeInput {
  const body = createBody(options)
  const isOpen = options.code !== undefined && body.template === undefined && body.snapshot === undefined
  return isOpen ? { ...body, template: codeTemplate } : body
}

/** Runs code in place of a command. */
async function runCode(
  attached: Pick<AttachedCode, 'runtime' | 'code' | 'interrupts'>,
  { code: file, language = languageOf(file), timeout, pictures, pictureDir: directory, json }: RunOptions,
): Promise<number> {
  const { printCodeResult, runCodeAttached } = await import('../code/run-code.ts')
  const whole = { ...attached, options: dropUndefined({ language, timeout_secs: timeout }) }
  return json === true ? printCodeResult(whole) : runCodeAttached(whole, { pictures, directory })
}

/**
 * Returns the deadline. A runtime that is deleted afterwards never pauses under its command. A kept
 * one has the usual deadline.
 */
function deadlineOf(options: RunOptions): Pick<CreateRuntimeInput, 'timeout_secs' | 'on_timeout'> {
  const { rm, timeout, runtimeTimeout, ...others } = options
  const fields = deadlineFields({ ...others, ...(runtimeTimeout === undefined ? {} : { timeout: runtimeTimeout }) })
  if (!rm) return fields
  if (Object.keys(fields).length > 0) throw new UsageError('A deadline needs a runtime that is kept: add --no-rm')
  return { timeout_secs: timeout > 0 ? Math.ceil(timeout) + runtimeMarginSecs : null, on_timeout: 'terminate' }
}

/** Reports a runtime that could not be deleted. The exit code stays that of the command. */
function tellKept(runtimeId: string, error: unknown): void {
  reportError(error)
  if (!(error instanceof HoltError && error.code === 'runtime_not_found'))
    say(`holt: delete the runtime by hand: holt rm ${shellWord(runtimeId)}`)
}
