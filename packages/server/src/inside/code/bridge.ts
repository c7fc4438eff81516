import { HoltError } from '@holt/protocol'
import type { z } from 'zod'
import type { OpenRuntime } from '../../runtimes/links/open-guest.ts'
import { askBridge, type BridgeAnswer, type BridgeRequest, type BridgeWay } from './bridge-answer.ts'
import type { BridgeAgents } from './bridge-connections.ts'
import { type Asked, BridgeFailure, bridgeFailed, refusalOf } from './bridge-errors.ts'
import { BridgeContext, BridgeContexts, BridgeDone, BridgeHealth } from './bridge-schemas.ts'
import { readBridgeAnswer } from './read-bridge-answer.ts'
import { reviveInterpreter } from './revive-interpreter.ts'

/** A run to start. One of `context_id` and `language` names its context. */
export interface BridgeRun {
  readonly run_id: string
  readonly code: string
  readonly context_id?: string
  readonly language?: string
  /** The time limit in seconds; null: none. */
  readonly timeout_secs: number | null
  readonly env: Readonly<Record<string, string>>
}

/** A context to create. A bridge that takes no ids makes one of its own. */
export interface BridgeNewContext {
  readonly context_id: string
  readonly language: string
  readonly cwd?: string
}

/**
 * The bridge of one runtime, as calls. Its answers are hostile: their sizes, shapes and times are
 * bounded here.
 */
export class Bridge {
  readonly #open: OpenRuntime
  readonly #way: BridgeWay
  #instance: string | null = null
  constructor(open: OpenRuntime, agents: BridgeAgents) {
    this.#open = open
    this.#way = { link: open.link, agent: agents.of(open.link) }
  }

  /** The name of the process that sent the last answer; null if that is unknown. */
  get instance(): string | null {
    return this.#instance
  }

  async contexts(signal: AbortSignal): Promise<readonly BridgeContext[]> {
    const { contexts } = await this.#call({ method: 'GET', path: '/v1/contexts' }, { schema: BridgeContexts, signal })
    return contexts
  }

  context(contextId: string, signal: AbortSignal): Promise<BridgeContext> {
    const request = { method: 'GET', path: pathOf(contextId) } as const
    return this.#call(request, { schema: BridgeContext, asked: { contextId }, signal })
  }

  /** Creates a context, or returns the one of an earlier request with the same id. */
  async createContext(json: BridgeNewContext, signal: AbortSignal): Promise<BridgeContext> {
    const asked = { language: json.language }
    const request = { method: 'POST', path: '/v1/contexts', json } as const
    try {
      return await this.#call(request, { schema: BridgeContext, asked, signal })
    } catch (error) {
      if (error instanceof IsKnown) return this.context(json.context_id, signal)
      throw error
    }
  }

  async deleteContext(contextId: string, signal: AbortSignal): Promise<void> {
    const request = { method: 'DELETE', path: pathOf(contextId) } as const
    await this.#call(request, { schema: BridgeDone, asked: { contextId }, signal })
  }

  /** Interrupts or restarts a context, and returns its state then. */
  changeContext(verb: 'interrupt' | 'restart', contextId: string, signal: AbortSignal): Promise<BridgeContext> {
    const request = { method: 'POST', path: `${pathOf(contextId)}/${verb}` } as const
    return this.#call(request, { schema: BridgeContext, asked: { contextId }, signal })
  }

  async interruptRun(runId: string, signal: AbortSignal): Promise<void> {
    const request = { method: 'POST', path: `${runPathOf(runId)}/interrupt` } as const
    await this.#call(request, { schema: BridgeDone, asked: { runId }, signal })
  }

  /** Starts a run. The answer has its items. Null if the bridge knows the run already. */
  async run(run: BridgeRun, signal: AbortSignal): Promise<BridgeAnswer | null> {
    const asked = { contextId: run.context_id, language: run.language }
    try {
      return await this.#accept({ method: 'POST', path: '/v1/runs', json: run }, { asked, signal })
    } catch (error) {
      if (error instanceof IsKnown) return null
      throw error
    }
  }

  /**
   * Returns the answer with the items of a run after a cursor; -1: all of them. Null if the bridge
   * has no such run.
   */
  async findRun(runId: string, cursor: number, signal: AbortSignal): Promise<BridgeAnswer | null> {
    const path = `${runPathOf(runId)}?cursor=${cursor}`
    try {
      return await this.#accept({ method: 'GET', path }, { asked: { runId }, signal })
    } catch (error) {
      if (error instanceof HoltError && error.code === 'code_run_not_found') return null
      throw error
    }
  }

  async #call<Schema extends z.ZodType>(
    request: BridgeRequest,
    { schema, asked = {}, signal }: { schema: Schema; asked?: Asked; signal: AbortSignal },
  ): Promise<z.output<Schema>> {
    return readBridgeAnswer(await this.#accept(request, { asked, signal }), schema)
  }

  /** Returns the answer to a request that the bridge accepts. */
  async #accept(
    request: BridgeRequest,
    { asked, signal }: { asked: Asked; signal: AbortSignal },
  ): Promise<BridgeAnswer> {
    const answer = await this.#ask(request, signal)
    const { status } = answer
    this.#instance = answer.instance
    if (status >= 200 && status < 300) return answer
    if (status < 400) {
      answer.destroy()
      throw bridgeFailed(`the status ${status}`)
    }
    const failure = await readBridgeAnswer(answer, BridgeFailure)
    if (knownCodes.includes(failure.code)) throw new IsKnown()
    const languages = failure.code === 'language_not_found' ? await this.#languages(signal) : []
    throw refusalOf(status, failure, { ...asked, languages })
  }

  /** Returns the answer to a request. An interpreter that was killed is started again for it. */
  async #ask(request: BridgeRequest, signal: AbortSignal): Promise<BridgeAnswer> {
    try {
      return await askBridge(this.#way, request, signal)
    } catch (error) {
      const isMissing = error instanceof HoltError && error.code === 'code_interpreter_missing'
      if (!isMissing || !(await reviveInterpreter(this.#open, signal))) throw error
      return askBridge(this.#way, request, signal)
    }
  }

  async #languages(signal: AbortSignal): Promise<readonly string[]> {
    try {
      const { languages } = await this.#call({ method: 'GET', path: '/health' }, { schema: BridgeHealth, signal })
      return languages.map(({ language }) => language)
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof HoltError) return [] // The client learns at least that its language is missing.
      throw error
    }
  }
}

/** The codes for a run or a context that an earlier request with the same id has made. */
const knownCodes: readonly string[] = ['run_exists', 'context_exists']

/** The bridge's refusal of something that it has already. */
class IsKnown extends Error {
  override readonly name = 'IsKnown'
}

function pathOf(contextId: string): string {
  return `/v1/contexts/${encodeURIComponent(contextId)}`
}

function runPathOf(runId: string): string {
  return `/v1/runs/${encodeURIComponent(runId)}`
}
