import { CodeContextId, isIdParam } from '@holt/protocol'
import { idNotFound } from '../../foundation/errors/not-found.ts'
import { type Answer, type Call, within } from '../../foundation/wire/call.ts'
import { Bridge } from '../../inside/code/bridge.ts'
import type { BridgeContext } from '../../inside/code/bridge-schemas.ts'
import { followRun, openRun } from '../../inside/code/follow-run.ts'
import { presentContext, presentItems } from '../../inside/code/present-code.ts'
import { runCode } from '../../inside/code/run-code.ts'
import { pageOfGuest } from '../../inside/commands/list-page.ts'
import { openGuest } from '../../runtimes/links/open-guest.ts'
import { StreamRetry } from '../../runtimes/links/stream-retry.ts'
import type { Api, Handlers } from '../api.ts'

/**
 * The time for the bridge to answer, in milliseconds. A context starts a process, which imports its
 * libraries.
 */
const answerTimeoutMs = 120_000

/** The routes of code contexts. */
export const codeHandlers = {
  createCodeContext,
  listCodeContexts,
  getCodeContext: (call) => aboutContext(call, (bridge, id, signal) => bridge.context(id, signal)),
  interruptCodeContext: (call) =>
    aboutContext(call, (bridge, id, signal) => bridge.changeContext('interrupt', id, signal)),
  restartCodeContext: (call) => aboutContext(call, (bridge, id, signal) => bridge.changeContext('restart', id, signal)),
  deleteCodeContext,
  runCode: (call) => runCode(call, () => ({ language: call.body.language })),
  runCodeInContext: (call) => runCode(call, () => ({ context_id: contextOf(call) })),
  readCodeRun,
  interruptCodeRun,
} satisfies Partial<Handlers>

type ContextCall =
  | Call<'getCodeContext', Api>
  | Call<'deleteCodeContext', Api>
  | Call<'interruptCodeContext', Api>
  | Call<'restartCodeContext', Api>

async function aboutContext(
  call: ContextCall,
  ask: (bridge: Bridge, contextId: string, signal: AbortSignal) => Promise<BridgeContext>,
): Promise<Answer> {
  const bridge = await openBridge(call)
  const contextId = contextOf(call)
  return { status: 200, json: presentContext(await ask(bridge, contextId, within(call, answerTimeoutMs))) }
}

async function createCodeContext(call: Call<'createCodeContext', Api>): Promise<Answer> {
  const { language, cwd } = call.body
  const bridge = await openBridge(call)
  call.operation()
  const wanted = { context_id: call.newId('code_context'), language, ...(cwd === undefined ? {} : { cwd }) }
  const context = await bridge.createContext(wanted, within(call, answerTimeoutMs))
  return { status: 201, json: presentContext(context) }
}

async function listCodeContexts(call: Call<'listCodeContexts', Api>): Promise<Answer> {
  const bridge = await openBridge(call)
  const contexts = await bridge.contexts(within(call, answerTimeoutMs))
  const dated = contexts.map((context) => ({ ...context, started_at_ms: context.created_at }))
  const nameOf = ({ context_id }: BridgeContext) => context_id
  const show = ({ started_at_ms: _, ...context }: (typeof dated)[number]) => presentContext(context)
  return { status: 200, json: pageOfGuest(dated, { query: call.query, nameOf, show }) }
}

async function deleteCodeContext(call: Call<'deleteCodeContext', Api>): Promise<Answer> {
  const bridge = await openBridge(call)
  const contextId = contextOf(call)
  await bridge.deleteContext(contextId, within(call, answerTimeoutMs))
  return { status: 204 }
}

async function readCodeRun(call: Call<'readCodeRun', Api>): Promise<Answer> {
  const { service, ref, gone: signal, query, keep } = call
  const bridge = await openBridge(call)
  const runId = runOf(call)
  const followed = { bridge, runId, streamRetry: new StreamRetry(service, { ref, signal }), signal }
  const { cursor = -1 } = query
  const begun = await openRun(followed, cursor)
  const items = followRun(followed, { begun, cursor, keep })
  return { status: 200, items: presentItems(items, { runId, cursor }) }
}

async function interruptCodeRun(call: Call<'interruptCodeRun', Api>): Promise<Answer> {
  const bridge = await openBridge(call)
  const runId = runOf(call)
  await bridge.interruptRun(runId, within(call, answerTimeoutMs))
  return { status: 204 }
}

type InterpreterCall =
  | ContextCall
  | Call<'createCodeContext', Api>
  | Call<'listCodeContexts', Api>
  | Call<'readCodeRun', Api>
  | Call<'interruptCodeRun', Api>

async function openBridge(call: InterpreterCall): Promise<Bridge> {
  const { service, ref, gone } = call
  return new Bridge(await openGuest(service, ref, { gone }), service.bridgeAgents)
}

function contextOf({ params }: { readonly params: { readonly context_id: string } }): string {
  if (CodeContextId.safeParse(params.context_id).success) return params.context_id
  throw idNotFound('code_context_not_found', params.context_id)
}

function runOf({ params }: { readonly params: { readonly run_id: string } }): string {
  if (isIdParam('run_id', params.run_id)) return params.run_id
  throw idNotFound('code_run_not_found', params.run_id)
}
