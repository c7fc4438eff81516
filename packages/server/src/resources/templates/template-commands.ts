import {
  BuildError,
  onRestoreId,
  runTemplateCommand,
  startApplication,
  templateCommand,
  wayOfEnding,
} from '@holt/builder'
import type { GuestClient } from '@holt/guest-client'
import { type ErrorCode, HoltError, makeId } from '@holt/protocol'
import type { TemplateRow } from '../../foundation/store/tables.ts'
import type { Resources } from '../resources.ts'
import { redactorOf } from '../secrets/redact.ts'

/**
 * The time that a create waits for the runtime's application, in milliseconds. Clients give up
 * after 120 s by default.
 */
const readyTimeoutMs = 90_000

/** The time limit of `on_restore`, in milliseconds. */
const onRestoreTimeoutMs = 60_000

/** The time for the guest to answer, beyond that of a command, in milliseconds. */
const graceMs = 10_000

/** The commands that a template runs in each of its runtimes. */
export interface TemplateCommands {
  readonly startCmd: string | null
  readonly readyCmd: string | null
  readonly onRestore: string | null
}

/** Returns the commands in a template's row. */
export function commandsOf({ start_cmd, ready_cmd, on_restore }: TemplateRow): TemplateCommands {
  return { startCmd: start_cmd, readyCmd: ready_cmd, onRestore: on_restore }
}

/** A runtime that is bound but not yet handed over. */
export interface BoundRuntime {
  readonly runtimeId: string
  readonly guest: GuestClient
  readonly signal: AbortSignal
  /** Returns the values inside that nobody else may read. */
  readonly secretValues: () => Promise<Iterable<string>>
}

/**
 * Starts the template's application in a new runtime. A restored runtime has it already. A booted
 * one, of the class `container` or of another size than the template's, starts it and waits until
 * it is ready. Then `on_restore` runs in both cases. Rejects with `HoltError` `start_cmd_failed`,
 * `ready_cmd_failed`, `ready_timeout` or `on_restore_failed`. The message has no secret of the
 * runtime.
 */
export async function startCommands(
  { engine }: Pick<Resources, 'engine'>,
  { startCmd, readyCmd, onRestore }: TemplateCommands,
  { runtimeId, guest, signal, secretValues }: BoundRuntime,
): Promise<void> {
  try {
    if (startCmd !== null && (await engine.inspect(runtimeId))?.restored !== true) {
      await startApplication(guest, { startCmd, readyCmd, readyTimeoutMs }, { signal }).catch(asAnswer)
    }
    if (onRestore !== null) await runOnRestore(guest, onRestore, signal)
  } catch (error) {
    throw error instanceof HoltError && isStartFailure(error) ? without(await secretValues(), error) : error
  }
}

/**
 * Removes the values from an error. It quotes the last output of a command, which may contain its
 * secrets, and is stored and shown.
 */
function without(values: Iterable<string>, { code, message, hint, details }: HoltError): HoltError {
  return new HoltError(code, redactorOf(values)(message), { hint, ...(details === undefined ? {} : { details }) })
}

async function runOnRestore(guest: GuestClient, command: string, signal: AbortSignal): Promise<void> {
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(onRestoreTimeoutMs + graceMs)])
  const run = (id: string) =>
    runTemplateCommand(guest, templateCommand(command, { id, timeout_ms: onRestoreTimeoutMs }), bounded)
  const end = await run(onRestoreId)
    .catch((error) => {
      // A runtime that is restored a second time knows the first command, whose output stays.
      if (error instanceof HoltError && error.code === 'already_exists') return run(makeId('command'))
      throw error
    })
    .catch((error) => {
      if (!(error instanceof HoltError) || error.status >= 500) throw error
      throw new HoltError('on_restore_failed', `on_restore could not be started: ${error.message}`, { cause: error })
    })
  if (end.exitCode === 0) return
  const message = `on_restore of the template ${wayOfEnding(end)}. ${end.output.quote()}`
  throw new HoltError('on_restore_failed', message, { details: { exit_code: end.exitCode, signal: end.signal } })
}

const startCodes = ['start_cmd_failed', 'ready_cmd_failed', 'ready_timeout'] as const
const failureCodes: readonly ErrorCode[] = [...startCodes, 'on_restore_failed']

/** Returns true if the template is the reason why a runtime did not start. */
export function isStartFailure({ code }: HoltError): boolean {
  return failureCodes.includes(code)
}

function asAnswer(error: unknown): never {
  const code = error instanceof BuildError ? startCodes.find((each) => each === error.code) : undefined
  if (!(error instanceof BuildError) || code === undefined) throw error
  const { hint, details, message } = error
  throw new HoltError(code, message, { details, cause: error, ...(hint === null ? {} : { hint }) })
}
