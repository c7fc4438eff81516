import { setTimeout as sleep } from 'node:timers/promises'
import type { GuestClient } from '@holt/guest-client'
import { HoltError } from '@holt/protocol'
import { BuildError } from '../errors.ts'
import type { StartedCommand } from './started-command.ts'
import { type CommandEnd, runTemplateCommand, templateCommand, wayOfEnding } from './template-command.ts'

/**
 * The pauses between tries, in milliseconds. The first ones are short, so that a fast start is
 * detected early.
 */
const firstPauseMs = 200
const longestPauseMs = 2000

/**
 * The time for one try of `ready_cmd`, in milliseconds. A try that hangs is killed and repeated.
 */
const tryTimeoutMs = 30_000

/**
 * The number of consecutive tries that a shell cannot run until `ready_cmd` fails. The start
 * command may still install it.
 */
const mostUnrunnable = 3

/**
 * The time after which an application without a `ready_cmd` and without an open port counts as
 * ready, in milliseconds.
 */
const settleMs = 10_000
const listeningPauseMs = 100

/** The subject and the limits of a wait. */
interface Wait {
  readonly started: StartedCommand
  /** The deadline on the clock of `performance.now()`. */
  readonly deadline: number
  readonly readyTimeoutMs: number
  readonly signal: AbortSignal
}

/** Repeats `ready_cmd` until it exits 0. */
export async function waitUntilReady(guest: GuestClient, readyCmd: string, wait: Wait): Promise<void> {
  let last: CommandEnd | null = null
  let unrunnable = 0
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 1.5, longestPauseMs)) {
    const leftMs = wait.deadline - performance.now()
    if (leftMs <= 0) throw timedOut(wait, last)
    const end = await tryOnce(guest, { readyCmd, timeoutMs: Math.ceil(Math.min(leftMs, tryTimeoutMs)), wait })
    if (end.exitCode === 0) return
    // A try that the deadline has cut short tells less than the one before it.
    if (last === null || !end.timedOut || leftMs > tryTimeoutMs) last = end
    unrunnable = end.exitCode === 127 || end.exitCode === 126 ? unrunnable + 1 : 0
    if (unrunnable >= mostUnrunnable) throw cannotRun(wayOfEnding(end), end.output.quote())
    await wait.started.requireAlive(wait.signal)
    await pause(Math.min(pauseMs, Math.max(0, wait.deadline - performance.now())), wait)
  }
}

async function tryOnce(
  guest: GuestClient,
  { readyCmd, timeoutMs, wait }: { readyCmd: string; timeoutMs: number; wait: Wait },
): Promise<CommandEnd> {
  const request = templateCommand(readyCmd, { timeout_ms: timeoutMs, transient: true })
  try {
    return await runTemplateCommand(guest, request, AbortSignal.any([wait.signal, wait.started.failed]))
  } catch (error) {
    wait.started.failed.throwIfAborted()
    if (error instanceof HoltError && error.code === 'invalid_request') throw cannotRun('cannot be run', error.message)
    throw error
  }
}

/**
 * Waits until the application listens on a port, until the command has ended, or until the time for
 * both is over.
 */
export async function waitUntilListening(guest: GuestClient, wait: Wait): Promise<void> {
  const settledAt = Math.min(performance.now() + settleMs, wait.deadline)
  for (;;) {
    const { state, descendants } = await wait.started.requireAlive(wait.signal)
    if (state === 'exited' && !descendants) return
    if ((await guest.ports.list(wait.signal)).length > 0) return
    if (performance.now() >= settledAt) return
    await pause(listeningPauseMs, wait)
  }
}

async function pause(ms: number, { started, signal }: Wait): Promise<void> {
  try {
    await sleep(ms, undefined, { signal: AbortSignal.any([signal, started.failed]) })
  } catch {
    started.failed.throwIfAborted()
    signal.throwIfAborted()
  }
}

function cannotRun(how: string, why: string): BuildError {
  return new BuildError('ready_cmd_failed', `ready_cmd ${how}: it cannot be run in this image. ${why}`, {
    hint: 'Install the programs that ready_cmd needs, or use one that the image has, such as `test -e FILE`.',
  })
}

function timedOut({ started, readyTimeoutMs }: Wait, last: CommandEnd | null): BuildError {
  const tried = last === null ? '' : ` The last try ${wayOfEnding(last)}. ${last.output.quote()}`
  const message = `ready_cmd did not exit with 0 within ${readyTimeoutMs / 1000} seconds.${tried}\nOf start_cmd: ${started.output.quote()}`
  return new BuildError('ready_timeout', message, {
    hint: 'Raise ready_timeout_secs, or correct start_cmd or ready_cmd.',
    details: { ready_timeout_secs: readyTimeoutMs / 1000, ready_exit_code: last?.exitCode ?? null },
  })
}
