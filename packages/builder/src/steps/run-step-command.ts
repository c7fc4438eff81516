import { EngineError } from '@holt/engine'
import { makeId } from '@holt/protocol'
import { BuildError } from '../errors.ts'
import { OutputLines } from '../output/output-lines.ts'
import type { Redactor } from '../output/redact.ts'
import { filledDisk, saysDiskFull } from './disk-check.ts'
import type { RunWork } from './resolved-step.ts'
import { type Exit, hintOfExit } from './step-hint.ts'
import type { StepRuntime } from './step-runtime.ts'

/** The output of a command that the guest keeps, in bytes. The log has all of the output. */
const RING_BYTES = 256 * 1024

/** Options for running a command and reading its output. */
export interface CommandContext {
  readonly number: number
  readonly text: string
  /** The values of secrets that the command gets as variables. */
  readonly variables: Readonly<Record<string, string>>
  readonly redactor: Redactor
  readonly disk: { readonly diskMiB: number; readonly baseBytes: number }
  readonly log: (line: string) => void
  readonly signal: AbortSignal
}

/**
 * Runs a command to its end, and kills all processes that it has started. Throws `step_failed`
 * unless it exits with 0.
 */
export async function runStepCommand(runtime: StepRuntime, work: RunWork, context: CommandContext): Promise<void> {
  const id = makeId('command')
  const { signal } = context
  using lines = new OutputLines(context.redactor, context.log)
  const items = await runtime.guest.processes.run(
    {
      id,
      command: null,
      argv: work.argv,
      cwd: work.workdir,
      env: { ...work.env, ...context.variables },
      env_exact: true,
      user: work.user === '' ? '0' : work.user,
      stdin: 'none',
      stdin_data: null,
      timeout_ms: 0,
      ring_bytes: RING_BYTES,
      pty: null,
      await_reader: false,
    },
    signal,
  )
  let exit: Exit | null = null
  for await (const item of items) {
    if (item.type === 'stdout' || item.type === 'stderr') lines.add(item.type, Buffer.from(item.data, 'base64'))
    else if (item.type === 'dropped') lines.note(`(${item.dropped_bytes} bytes of output were lost)`)
    else if (item.type === 'exit') exit = item
  }
  if (exit === null) throw new EngineError('unavailable', 'the guest interrupted a command')
  await runtime.guest.processes.kill(id, signal)
  if (exit.exit_code === 0) return
  lines[Symbol.dispose]()
  throw await failureOf(exit, { runtime, user: work.user, tail: lines.tail, context })
}

interface Failed {
  readonly runtime: StepRuntime
  /** The user as in USER. Empty for root. */
  readonly user: string
  readonly tail: string
  readonly context: CommandContext
}

async function failureOf(
  exit: Exit,
  { runtime, user, tail, context: { number, text, disk } }: Failed,
): Promise<BuildError> {
  if (saysDiskFull(tail) && (await runtime.mayBeFull())) return filledDisk(disk, number)
  const { exit_code: exitCode, signal } = exit
  const how =
    exit.oom_killed === true
      ? `needed more memory than the ${runtime.spec.memoryMiB} MiB that steps of a build have`
      : signal !== null
        ? `was ended by ${signal}`
        : `exited with ${exitCode ?? 'an unknown code'}`
  const quoted = tail === '' ? '' : `\n${tail}`
  const hint = hintOfExit(exit, { user, tail })
  return new BuildError('step_failed', `${text} ${how}.${quoted}`, {
    step: number,
    details: { exit_code: exitCode, signal, output: tail },
    hint,
  })
}
