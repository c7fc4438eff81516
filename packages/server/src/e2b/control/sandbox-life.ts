import { type ConnectSandbox, E2bError, type PauseSandbox, type Refresh, type SetTimeout } from '@holt/e2b'
import { HoltError } from '@holt/protocol'
import type { z } from 'zod'
import type { E2bConfig } from '../../foundation/config/e2b-settings.ts'
import { within } from '../../foundation/wire/call.ts'
import { loseMemory } from '../../runtimes/lifecycle/lose-memory.ts'
import { pauseFiles } from '../../runtimes/lifecycle/pause-files.ts'
import { pauseReasons, pauseRuntime } from '../../runtimes/lifecycle/pause-runtime.ts'
import { resumeRuntime } from '../../runtimes/lifecycle/resume-runtime.ts'
import { openGuest } from '../../runtimes/links/open-guest.ts'
import { endRuntime } from '../../runtimes/state/end-runtime.ts'
import type { E2bAnswer } from '../answers/write-answer.ts'
import { presentSandbox } from '../sandbox/present-sandbox.ts'
import type { ControlCall } from './control-call.ts'
import { e2bConfig } from './e2b-config.ts'
import { findLive, findLiveRunning } from './find-live.ts'
import { setDeadline } from './sandbox-deadline.ts'

/** The time for a guest to show that it works, in milliseconds. */
const healthTimeoutMs = 5_000

/** The life of a resumed sandbox whose request names none, in seconds. */
const resumeTimeoutSecs = 15

/**
 * Connects to a sandbox, which resumes for that. Its life never becomes shorter. With `memory:
 * false` a paused one boots again with its files.
 */
export async function connectSandbox(
  { service, body, ref }: ControlCall<ConnectSandbox, unknown>,
  defaultTimeoutSecs: (config: E2bConfig) => number,
): Promise<E2bAnswer> {
  if (body.timeout === 0) throw new E2bError(400, 'timeout must be at least 1')
  const timeoutSecs = body.timeout ?? defaultTimeoutSecs(e2bConfig(service))
  const found = await findLive(service, ref)
  if (found.state !== 'running') await service.transitions.settled(ref.runtimeId)
  const before = await setDeadline(service, ref, { timeoutSecs, onlyLonger: true })
  if (before.state === 'running') return { status: 200, json: await presentSandbox(service, before) }
  if (body.memory === false) await loseMemory(service, ref)
  await resumeRuntime(service, ref)
  // A resume that had begun before the life was set counts from its own.
  const row = await setDeadline(service, ref, { timeoutSecs, onlyLonger: true })
  return { status: 201, json: await presentSandbox(service, row) }
}

/** Resumes a paused sandbox, as old clients do. */
export async function resumeSandbox({ service, body, ref }: ControlCall<ConnectSandbox, unknown>): Promise<E2bAnswer> {
  if (body.timeout === 0) throw new E2bError(400, 'timeout must be at least 1')
  const found = await findLive(service, ref)
  if (found.state === 'running') throw new HoltError('conflict', 'The sandbox is running.')
  await service.transitions.settled(ref.runtimeId)
  const onTimeout = body.autoPause === undefined ? undefined : body.autoPause ? 'pause' : 'terminate'
  await setDeadline(service, ref, { timeoutSecs: body.timeout ?? resumeTimeoutSecs, onlyLonger: false, onTimeout })
  if (body.memory === false) await loseMemory(service, ref)
  const row = await resumeRuntime(service, ref)
  return { status: 201, json: await presentSandbox(service, row) }
}

/** Pauses a sandbox with its memory, or with `memory: false` its files alone. */
export async function pauseSandbox({
  service,
  body,
  ref,
  gone,
}: ControlCall<z.output<typeof PauseSandbox>, unknown>): Promise<E2bAnswer> {
  const row = await findLive(service, ref)
  if (row.state === 'paused') throw new HoltError('conflict', 'The sandbox is paused already.')
  if (body.requireHealthyGuest === true) {
    const signal = within({ gone }, healthTimeoutMs)
    const { guest } = await openGuest(service, ref, { gone: signal })
    await guest.usage(signal).catch((cause: unknown) => {
      throw new HoltError('unavailable', 'The guest does not answer, and the sandbox was not paused.', { cause })
    })
  }
  const pause = body.memory === false ? pauseFiles : pauseRuntime
  await pause(service, ref, pauseReasons.requested)
  return { status: 204 }
}

/** Ends a sandbox. An ended sandbox is not found. */
export async function killSandbox({ service, ref }: ControlCall<unknown, unknown>): Promise<E2bAnswer> {
  await findLive(service, ref)
  await endRuntime(service, ref)
  return { status: 204 }
}

/** Sets the life of a running sandbox, counted from now. */
export async function setSandboxTimeout({
  service,
  body,
  ref,
}: ControlCall<z.output<typeof SetTimeout>, unknown>): Promise<E2bAnswer> {
  await findLiveRunning(service, ref)
  await setDeadline(service, ref, { timeoutSecs: body.timeout, onlyLonger: false })
  return { status: 204 }
}

/** Makes the life of a running sandbox longer, never shorter. */
export async function refreshSandbox({
  service,
  body,
  ref,
}: ControlCall<z.output<typeof Refresh>, unknown>): Promise<E2bAnswer> {
  await findLiveRunning(service, ref)
  await setDeadline(service, ref, { timeoutSecs: body.duration ?? 0, onlyLonger: true })
  return { status: 204 }
}
