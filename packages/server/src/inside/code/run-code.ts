import { type CodeResult, HoltError, type Id, type RunCodeInContext } from '@holt/protocol'
import type { Answer, Call } from '../../foundation/wire/call.ts'
import { acceptedFormat } from '../../foundation/wire/stream-items.ts'
import { openGuest } from '../../runtimes/links/open-guest.ts'
import { StreamRetry } from '../../runtimes/links/stream-retry.ts'
import type { Inside } from '../inside.ts'
import { Bridge, type BridgeRun } from './bridge.ts'
import { type CollectedRun, collectRun } from './collect-run.ts'
import { followRun, startRun } from './follow-run.ts'
import { presentItems } from './present-code.ts'
import type { ReadItem } from './read-bridge-items.ts'
import { shortenCodeResult } from './shorten-code-result.ts'

type RunCall = Call<'runCode', Inside> | Call<'runCodeInContext', Inside>

/**
 * Runs code in a context, or in the default context of a language. Streams the items or waits for
 * the end, as the request asks.
 */
export async function runCode(call: RunCall, place: () => Pick<BridgeRun, 'context_id' | 'language'>): Promise<Answer> {
  const { service, body, ref, gone: signal } = call
  const open = await openGuest(service, ref, { gone: signal })
  const context = place()
  const runId = call.newId('code_run')
  const run = requestOf(body, { run_id: runId, ...context })
  const streamed = acceptedFormat(call.headers.accept) !== null
  service.metrics.work.noteCodeRun(streamed ? 'streamed' : 'waited')
  call.operation()
  const streamRetry = new StreamRetry(service, { ref, signal })
  const followed = { bridge: new Bridge(open, service.bridgeAgents), runId, streamRetry, signal }
  const begun = await startRun(followed, run)
  const contextId = context.context_id ?? `default-${context.language}`
  const items = followRun(followed, { begun, cursor: -1, keep: call.keep, contextId })
  if (streamed) return { status: 200, items: presentItems(items, { runId, cursor: -1 }) }
  const { contextId: ranIn, ...collected } = await waitFor(call, items, runId)
  const result: CodeResult = {
    run_id: runId as Id<'code_run'>,
    context_id: ranIn ?? contextId,
    ...collected,
  }
  return { status: 200, json: result, shorten: (maxBytes) => shortenCodeResult(result, maxBytes) }
}

async function waitFor(
  { service, body, ref, gone, keep }: RunCall,
  items: AsyncIterable<ReadItem>,
  runId: string,
): Promise<CollectedRun> {
  const { max_output_bytes: maxOutputBytes, max_result_bytes: maxResultBytes } = body
  try {
    return await collectRun(items, { maxOutputBytes, maxResultBytes, keep })
  } catch (cause) {
    if (cause instanceof HoltError && cause.code === 'code_interpreter_failed') throw cause
    // The answer does not name the cause, so the log does. A client that has disconnected is not a
    // cause.
    if (!gone.aborted) {
      const facts = { err: cause, runtime_id: ref.runtimeId, run_id: runId }
      service.log.warn(facts, 'the connection to a runtime broke while code ran')
    }
    throw new HoltError('timeout', 'The connection to the runtime broke while the code ran. It may still run.', {
      hint: 'Read the run by its id: GET .../contexts/runs/{run_id}.',
      details: { run_id: runId },
      cause,
    })
  }
}

function requestOf(
  { code, timeout_secs, env }: RunCodeInContext,
  rest: Pick<BridgeRun, 'run_id' | 'context_id' | 'language'>,
): BridgeRun {
  return { ...rest, code, timeout_secs: timeout_secs === 0 ? null : timeout_secs, env }
}
