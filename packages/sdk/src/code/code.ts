import type {
  CodeContext,
  CodeItem,
  CodeOutput,
  CodeResult,
  ErrorCode,
  RunCodeInContextInput,
  RunCodeInput,
} from '@holt/protocol'
import type { OutputListener } from '../content/output.ts'
import { endLeft, untilAborted } from '../transport/abort-command.ts'
import { eventStream, resumeItems } from '../transport/item-stream.ts'
import type { CallOptions, Transport } from '../transport/transport.ts'
import { CodeContexts, contextIdOf } from './code-contexts.ts'
import { collectCode } from './collect-code.ts'

/** The options for code whose items are read. */
export interface StreamCodeOptions extends Omit<RunCodeInput, 'code'>, CallOptions {
  /** The context to run in, or its id. Default: the default context of `language`. */
  readonly context?: CodeContext | string | undefined
  /**
   * The fate of the run when `signal` aborts the call, or the loop over `stream` is left.
   * `interrupt` (default): it is interrupted before the call throws. `leave`: it continues.
   */
  readonly onAbort?: 'interrupt' | 'leave' | undefined
}

/** The options for running code and listening to it. */
export interface RunCodeOptions extends StreamCodeOptions, OutputListener {
  /** Called with each result as it arrives: displays, their updates, and the last value. */
  readonly onResult?: ((result: CodeOutput) => void) | undefined
}

/** The options for reading a run again. */
export interface ReadCodeOptions extends CallOptions {
  /** The cursor after which reading begins. Default: all kept items are read. */
  readonly cursor?: number
}

/** Running code in one runtime. Its variables stay for later code of the same context. */
export class Code {
  /** The contexts of the runtime. */
  readonly contexts: CodeContexts
  readonly #transport: Transport
  readonly #runtimeId: string
  constructor(transport: Transport, runtimeId: string) {
    this.#transport = transport
    this.#runtimeId = runtimeId
    this.contexts = new CodeContexts(transport, runtimeId)
  }

  /**
   * Runs code and waits for its end. Code that fails, times out or loses its context is a result,
   * not an error: see `status` and `error`. `stdout` and `stderr` hold up to `max_output_bytes` (1
   * MiB) each, and `results` up to `max_result_bytes` (8 MiB). Listeners receive everything as it
   * arrives. Aborting the call interrupts the run, unless `onAbort` is `leave`.
   */
  async run(code: string, options: RunCodeOptions = {}): Promise<CodeResult> {
    const { onStdout, onStderr, onResult, ...rest } = options
    return collectCode(this.stream(code, rest), { ...rest, onStdout, onStderr, onResult })
  }

  /**
   * Runs code and yields its items as they arrive, from `start` to `end`. After a broken connection
   * it reconnects and continues after the last item. Aborting, or leaving the loop, interrupts the
   * run, unless `onAbort` is `leave`.
   */
  stream(code: string, options: StreamCodeOptions = {}): AsyncGenerator<CodeItem, void, undefined> {
    const { signal, onAbort = 'interrupt' } = options
    return untilAborted({
      signal,
      end: onAbort === 'leave' ? null : (runId) => this.#interruptLeft(runId),
      open: (connection) => this.#items(code, options, connection),
      idOf: (item) => (item.type === 'start' ? item.run_id : null),
      isLast: (item) => item.type === 'end',
    })
  }

  /**
   * Yields the items of a run from any point that is kept, until its end. After a broken connection
   * it reconnects and continues after the last item.
   */
  read(runId: string, options: ReadCodeOptions = {}): AsyncGenerator<CodeItem, void, undefined> {
    const { signal, cursor = -1 } = options
    const { resumeTimeoutMs } = this.#transport.options
    const open = (after: number) => this.#openRun(runId, after, signal)
    return resumeItems<CodeItem>({ open, cursor, resumeTimeoutMs, signal })
  }

  /** Interrupts one run. An ended run stays as it is. */
  async interrupt(runId: string, options: CallOptions = {}): Promise<void> {
    const params = { runtime_id: this.#runtimeId, run_id: runId }
    await this.#transport.run('interruptCodeRun', { ...options, params, twiceIsOnce: true })
  }

  async *#items(
    code: string,
    options: StreamCodeOptions,
    connection: AbortSignal,
  ): AsyncGenerator<CodeItem, void, undefined> {
    let runId = ''
    const items = resumeItems<CodeItem>({
      first: await this.#start(code, options, connection),
      open: (after) => this.#openRun(runId, after, connection),
      canReopen: () => runId !== '',
      lostBeforeStart: 'The connection was lost before the start of the run was confirmed. It may run',
      cursor: -1,
      resumeTimeoutMs: this.#transport.options.resumeTimeoutMs,
      signal: connection,
    })
    for await (const item of items) {
      if (item.type === 'start') runId = item.run_id
      yield item
    }
  }

  #start(code: string, options: StreamCodeOptions, connection: AbortSignal): Promise<Response> {
    const { context, language, signal, onAbort: _, ...settings } = options
    const json: RunCodeInContextInput = { ...settings, code }
    const request = { signal, connection, headers: { accept: eventStream } }
    const params = { runtime_id: this.#runtimeId }
    if (context === undefined)
      return this.#transport.open('runCode', {
        ...request,
        params,
        json: { ...json, ...(language === undefined ? {} : { language }) },
      })
    const inContext = { ...params, context_id: contextIdOf(context) }
    return this.#transport.open('runCodeInContext', { ...request, params: inContext, json })
  }

  #openRun(runId: string, after: number, signal: AbortSignal | undefined): Promise<Response> {
    return this.#transport.open('readCodeRun', {
      signal,
      params: { runtime_id: this.#runtimeId, run_id: runId },
      query: after < 0 ? {} : { cursor: after },
      headers: { accept: eventStream },
    })
  }

  /** Interrupts a run that has no caller any more. A missing run is success. */
  async #interruptLeft(runId: string): Promise<void> {
    const interrupt = (signal: AbortSignal) => this.interrupt(runId, { signal })
    await endLeft(interrupt, { gone: goneCodes, what: `The run ${runId} could not be interrupted` })
  }
}

const goneCodes: readonly ErrorCode[] = ['runtime_not_found', 'runtime_terminated', 'code_run_not_found']
