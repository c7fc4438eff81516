import type { RouteName } from '@holt/protocol'
import type { Runtime } from '@holt/sdk'
import type { CallToolResult, ToolAnnotations } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { Session } from '../session/session.ts'

/** Tells a client how far a call is. A call without effect if the client has not asked for it. */
export type TellProgress = (message: string, progress?: { readonly done: number; readonly total?: number }) => void

/** One call of a tool: the session that it belongs to, its end, and the way to report progress. */
export interface ToolCall {
  readonly session: Session
  /** Aborts when the client cancels the call or disconnects. */
  readonly signal: AbortSignal
  readonly tellProgress: TellProgress
}

/** One call of a tool that acts on a runtime. */
export interface RuntimeCall extends ToolCall {
  readonly runtime: Runtime
}

/** The parts of a tool that do not depend on its arguments. */
interface ToolFacts {
  readonly name: string
  readonly title: string
  /** The description that the model reads. */
  readonly description: string
  /** The routes that the tool calls. A key needs the scopes of all of them. */
  readonly routes: readonly RouteName[]
  readonly annotations: ToolAnnotations
}

interface Definition<Fields extends z.ZodRawShape, Call> extends ToolFacts {
  readonly fields: Fields
  readonly run: (args: z.output<z.ZodObject<Fields>>, call: Call) => Promise<CallToolResult>
}

/** A tool, for any session. `run` gets arguments that `input` has parsed. */
export interface Tool extends ToolFacts {
  /** The arguments of a session that is bound to one runtime. */
  readonly bound: z.ZodObject
  /** The arguments of a session that is not. */
  readonly free: z.ZodObject
  /** True if a session that is bound to one runtime has a use for the tool. */
  readonly forBound: boolean
  readonly run: (args: Readonly<Record<string, unknown>>, call: ToolCall) => Promise<CallToolResult>
}

const runtimeField = z.string().min(1).max(63).describe('The runtime, by id or name.')

/** Defines a tool that acts on one runtime, which the session or the argument `runtime` names. */
export function runtimeTool<Fields extends z.ZodRawShape>(definition: Definition<Fields, RuntimeCall>): Tool {
  const { fields, run, ...facts } = definition
  return {
    ...facts,
    bound: z.strictObject(fields),
    free: z.strictObject({ runtime: runtimeField, ...fields }),
    forBound: true,
    run: async ({ runtime: name, ...args }, call) => {
      const runtime = await call.session.runtime(name as string | undefined, call.signal)
      return run(args as z.output<z.ZodObject<Fields>>, { ...call, runtime })
    },
  }
}

/** Defines a tool that acts on the service. */
export function serviceTool<Fields extends z.ZodRawShape>(definition: Definition<Fields, ToolCall>): Tool {
  const { fields, run, ...facts } = definition
  const input = z.strictObject(fields)
  return {
    ...facts,
    bound: input,
    free: input,
    forBound: false,
    run: (args, call) => run(args as z.output<z.ZodObject<Fields>>, call),
  }
}

/** The annotations of a tool that changes nothing. */
export const readsOnly: ToolAnnotations = { readOnlyHint: true, openWorldHint: false }
