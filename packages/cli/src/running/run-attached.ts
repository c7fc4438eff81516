import { fstatSync } from 'node:fs'
import type { CommandHandle, CommandOptions, OutputItem, Runtime } from '@holt/sdk'
import { HoltError, outputBytes } from '@holt/sdk'
import { isGone, say, writeBytes } from '../output/print.ts'
import { mib } from '../output/table.ts'
import type { Interrupts } from '../verb/interrupts.ts'
import { holtFailedExitCode } from '../verb/verb.ts'
import { OutputTail, tellOfDenials } from './tell-of-denials.ts'
import { tellOfPauses } from './tell-of-pauses.ts'

/** The exit code of a command that exceeded its time limit. */
const timedOutExitCode = 124

/**
 * The exit code of a shell for an end by SIGPIPE: the end of a local command whose output has no
 * reader.
 */
export const brokenPipeExitCode = 141

/** The exit codes of a shell for a program that cannot be executed, and for a missing one. */
const programExitCodes: Readonly<Record<string, number>> = { program_not_executable: 126, program_not_found: 127 }

/** Returns the exit code for the shell if the command did not run. */
export function failureExitCode(error: unknown): number {
  const reason = error instanceof HoltError ? error.details?.reason : undefined
  return programExitCodes[String(reason)] ?? holtFailedExitCode
}

/**
 * Runs work with a command. If the command is a shell line in one argument, the error for a missing
 * program explains how to run a line.
 */
export async function explainingLines<Result>(
  argv: readonly string[],
  verb: string,
  run: () => Promise<Result>,
): Promise<Result> {
  try {
    return await run()
  } catch (error) {
    const [line = '', ...more] = argv
    const isMissing = error instanceof HoltError && error.details?.reason === 'program_not_found'
    if (!isMissing || more.length > 0 || !/\s/.test(line)) throw error
    const hint = `It has spaces. To run a shell line: ${verb} -- sh -c '...'`
    throw new HoltError(error.code, error.message, { hint, cause: error, ...detailsOf(error) })
  }
}

function detailsOf({ details }: HoltError) {
  return details === undefined ? {} : { details }
}

/** A command that runs as if it were local. */
export interface Attached {
  readonly runtime: Runtime
  /** The shell runs a text; a list is run directly. */
  readonly command: string | readonly string[]
  readonly options: CommandOptions
  readonly interrupts: Interrupts
  /** True if typed input is passed on as well. */
  readonly interactive?: boolean
  /**
   * True if the runtime was made for this command. Then all of its network log belongs to the
   * command.
   */
  readonly isOwn?: boolean
}

/**
 * Runs a command with its output on ours, and passes on piped stdin and signals. The first signal
 * is passed unchanged; a second kills. Returns the exit code for the shell.
 */
export async function runAttached(attached: Attached): Promise<number> {
  const { runtime, command, options, interrupts, interactive = false } = attached
  const piped = interactive || stdinIsPiped()
  const ended = new AbortController()
  let exit: Exit | undefined
  let dropped = 0
  let commandId = ''
  let unread = false
  const output = new OutputTail()
  void tellOfPauses(runtime, ended.signal)
  for await (const item of runtime.commands.stream(command, { ...options, stdin: piped, onAbort: 'leave' })) {
    if (item.type === 'start') {
      commandId = item.command_id
      interrupts.passOn((signal, count) =>
        reach(runtime, item.command_id, (command) => (count === 1 ? command.sendSignal(signal) : command.kill())),
      )
      if (piped) void pipeStdin(runtime, item.command_id, ended.signal)
    } else if (item.type === 'stdout' || item.type === 'stderr') {
      const bytes = outputBytes(item)
      output.add(bytes)
      await writeBytes(process[item.type], bytes)
    } else if (item.type === 'dropped') dropped += item.dropped_bytes
    else if (item.type === 'exit') exit = item
    unread = exit === undefined && isGone(process.stdout)
    if (!unread) continue
    await reach(runtime, commandId, (command) => command.kill())
    break
  }
  ended.abort()
  process.stdin.destroy()
  if (unread) return brokenPipeExitCode
  if (exit?.session_kept === false) tellNotKept()
  if (exit?.oom_killed === true) tellOutOfMemory(runtime)
  const exitCode = exitCodeOf(exit)
  if (exitCode !== 0 && interrupts.first === null) await tellWhy(attached, { commandId, exit, output })
  if (dropped === 0) return exitCode
  say(`holt: ${dropped} bytes of output are lost: they were written faster than they could be kept`)
  return exitCode === 0 ? holtFailedExitCode : exitCode
}

type Exit = Extract<OutputItem, { type: 'exit' }>

interface Failed {
  readonly commandId: string
  readonly exit: Exit | undefined
  readonly output: OutputTail
}

/** Prints the part of the network policy in a failure. */
async function tellWhy({ runtime, isOwn = false }: Attached, { commandId, exit, output }: Failed): Promise<void> {
  const tell = (startedAt: string | null) => tellOfDenials({ runtime, startedAt, output })
  if (isOwn) return tell(null)
  if (exit?.command !== undefined) return tell(exit.command.started_at)
  // An older service does not send the final state, and without an end there is none.
  await reach(runtime, commandId, ({ started_at }) => tell(started_at))
}

/** Returns the exit code for the shell: the command's own, if known. */
export function exitCodeOf(exit: { exit_code: number | null; timed_out: boolean } | undefined): number {
  if (exit?.timed_out === true) {
    say('holt: the command took longer than its time limit and was killed')
    return timedOutExitCode
  }
  if (exit !== undefined && exit.exit_code !== null) return exit.exit_code
  say('holt: the end of the command is not known')
  return holtFailedExitCode
}

/** Reports that the session kept nothing of a command that did not reach the end of its shell. */
export function tellNotKept(): void {
  say('holt: the command left no state, so the session is unchanged')
}

/** Reports that a process of the command was killed for memory, with the remedy. */
export function tellOutOfMemory({ memory_mib }: Pick<Runtime, 'memory_mib'>): void {
  say(`holt: the runtime ran out of its ${mib(memory_mib)} of memory, and a process of the command was killed`)
  say(`holt: create a runtime with more memory: --memory ${2 * memory_mib}MiB`)
}

/** Acts on the running command of this process, if it still runs. */
async function reach(
  runtime: Runtime,
  commandId: string,
  act: (command: CommandHandle) => Promise<unknown>,
): Promise<void> {
  try {
    await act(await runtime.commands.get(commandId))
  } catch (error) {
    // An ended command needs no signal. The stream meets any other failure itself.
    if (!(error instanceof HoltError)) throw error
  }
}

/** Passes on piped input, until its end, or until the command has ended or no longer reads. */
async function pipeStdin(runtime: Runtime, commandId: string, signal: AbortSignal): Promise<void> {
  try {
    const command = await runtime.commands.get(commandId, { signal })
    await command.pipeStdin(process.stdin, { signal })
  } catch (error) {
    // The stream reports an ended command. A closed stdin is the command's own choice, like a
    // broken pipe here.
    if (signal.aborted || (error instanceof HoltError && error.details?.reason === 'stdin_closed')) return
    say(`holt: stdin could not be passed on: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** Returns true for a pipe, a file or a socket, false for a terminal and /dev/null. */
function stdinIsPiped(): boolean {
  try {
    return !fstatSync(0).isCharacterDevice()
  } catch {
    return false // Closed: there is nothing to pass on.
  }
}
