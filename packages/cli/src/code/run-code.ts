import type { CodeItem, CodeResult, Runtime, StreamCodeOptions } from '@holt/sdk'
import { isGone, printJson, say } from '../output/print.ts'
import { brokenPipeExitCode, tellOutOfMemory } from '../running/run-attached.ts'
import { type Interrupts, interruptedExitCode } from '../verb/interrupts.ts'
import { holtFailedExitCode } from '../verb/verb.ts'
import { type Shown, showItem } from './show-item.ts'

/** Code that runs as if it were local. */
export interface AttachedCode {
  readonly runtime: Runtime
  readonly code: string
  readonly options: StreamCodeOptions
  readonly interrupts: Interrupts
}

/** The end of a run. */
export type CodeEnd = Extract<CodeItem, { readonly type: 'end' }>

/** The exit codes of code that did not end by itself. */
const exitCodes: Readonly<Record<CodeResult['status'], number>> = {
  ok: 0,
  error: 1,
  timed_out: 124,
  interrupted: interruptedExitCode,
  kernel_died: holtFailedExitCode,
  out_of_memory: 137,
}

/**
 * Runs code with its output on ours. The first signal interrupts it, and a second one leaves it.
 * Returns the exit code for the shell.
 */
export async function runCodeAttached(attached: AttachedCode, shown: Shown): Promise<number> {
  const { runtime, code, options, interrupts } = attached
  const left = new AbortController()
  let end: CodeEnd | undefined
  const signal = left.signal
  try {
    for await (const item of runtime.code.stream(code, { ...options, signal })) {
      if (item.type === 'start') interruptOnSignal(attached, item.run_id, left)
      await showItem(item, shown)
      if (item.type === 'end') end = item
      if (isGone(process.stdout)) break
    }
  } catch (error) {
    if (interrupts.first === null || !signal.aborted) throw error
    return interruptedExitCode
  }
  if (end === undefined) return brokenPipeExitCode
  tellEnd(end, runtime)
  return exitCodes[end.status]
}

function interruptOnSignal({ runtime, interrupts }: AttachedCode, runId: string, left: AbortController): void {
  interrupts.passOn(async (_, count) => {
    if (count > 1) left.abort()
    else
      await runtime.code
        .interrupt(runId)
        .catch((error: unknown) => say(`holt: the code could not be interrupted: ${String(error)}`))
  })
}

/** Runs code, and prints its result as JSON. Returns the exit code for the shell. */
export async function printCodeResult({ runtime, code, options, interrupts }: AttachedCode): Promise<number> {
  const left = new AbortController()
  interrupts.passOn(async () => left.abort())
  try {
    const result = await runtime.code.run(code, { ...options, signal: left.signal })
    printJson(result)
    return exitCodes[result.status]
  } catch (error) {
    if (!left.signal.aborted) throw error
    return interruptedExitCode
  }
}

/** Reports an end that the output does not explain. */
export function tellEnd(
  { status, state_lost: isLost }: Pick<CodeEnd, 'status' | 'state_lost'>,
  runtime: Runtime,
): void {
  if (status === 'timed_out') say('holt: the code took longer than its time limit and was interrupted')
  if (status === 'kernel_died') say('holt: the process of the context ended')
  if (status === 'out_of_memory') tellOutOfMemory(runtime)
  if (isLost) say('holt: the variables of earlier code are lost')
}
