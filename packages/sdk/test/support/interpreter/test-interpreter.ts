import { runScript, type ScriptEnd } from './run-script.ts'
import { TestRun } from './test-run.ts'

/** A context, in the words of the wire. */
export interface TestContext {
  readonly context_id: string
  readonly language: string
  readonly cwd: string
  state: 'idle' | 'busy' | 'dead'
  execution_count: number
  readonly created_at: string
}

/** A run to start. */
export interface NewRun {
  readonly run_id: string
  readonly code: string
  readonly context_id?: string | undefined
  readonly language?: string | undefined
  readonly timeout_secs?: number | null | undefined
  readonly env?: Readonly<Record<string, string>> | undefined
}

/** A request that the interpreter refuses. */
export class InterpreterRefusal extends Error {
  override readonly name = 'InterpreterRefusal'
  readonly code: 'context_not_found' | 'run_not_found' | 'language_not_found' | 'run_exists' | 'context_exists'
  constructor(code: InterpreterRefusal['code'], message: string) {
    super(message)
    this.code = code
  }
}

/**
 * A code interpreter for tests. Its language has a statement on each line, such as `print hello`,
 * `set x 1`, `get x`, `raise ValueError no`, `wait` and `die`.
 */
export class TestInterpreter {
  readonly languages = ['python', 'javascript'] as const
  readonly #contexts = new Map<string, TestContext>()
  readonly #variables = new Map<string, Map<string, string>>()
  readonly #turns = new Map<string, Promise<void>>()
  readonly #runs = new Map<string, TestRun>()
  #made = 0

  get contexts(): readonly TestContext[] {
    return [...this.#contexts.values()]
  }

  /** The number of runs that were started. */
  get runs(): number {
    return this.#runs.size
  }

  create(language = 'python', cwd = '/workspace', id = `ctx${++this.#made}`): TestContext {
    if (!(this.languages as readonly string[]).includes(language))
      throw new InterpreterRefusal('language_not_found', `no kernel of ${language}`)
    if (this.#contexts.has(id)) throw new InterpreterRefusal('context_exists', `the context ${id} exists`)
    const created_at = new Date(Date.UTC(2026, 0, 1) + this.#contexts.size * 1000).toISOString()
    const context: TestContext = { context_id: id, language, cwd, state: 'idle', execution_count: 0, created_at }
    this.#contexts.set(id, context)
    this.#variables.set(id, new Map())
    return context
  }

  context(id: string): TestContext {
    const context = this.#contexts.get(id)
    if (context === undefined) throw new InterpreterRefusal('context_not_found', `no context ${id}`)
    return context
  }

  delete(id: string): void {
    this.restart(id)
    this.#contexts.delete(id)
  }

  restart(id: string): void {
    const context = this.context(id)
    this.#stopAll(id, 'kernel_died')
    this.#variables.set(id, new Map())
    context.state = 'idle'
    context.execution_count = 0
  }

  interrupt(id: string): void {
    this.context(id)
    this.#stopAll(id, 'interrupted')
  }

  /** Starts a run. The runs of a context take place one after another. */
  start(run: NewRun): TestRun {
    if (this.#runs.has(run.run_id)) throw new InterpreterRefusal('run_exists', `the run ${run.run_id} exists`)
    const context = run.context_id === undefined ? this.#default(run.language) : this.context(run.context_id)
    const started = new TestRun(run.run_id, context.context_id)
    this.#runs.set(run.run_id, started)
    started.add({ type: 'start', run_id: run.run_id, context_id: context.context_id })
    if (context.state === 'busy') started.add({ type: 'queued' })
    const turn = this.#turns.get(context.context_id) ?? Promise.resolve()
    this.#turns.set(
      context.context_id,
      turn.then(() => this.#run(context, started, run)),
    )
    return started
  }

  run(id: string): TestRun {
    const run = this.#runs.get(id)
    if (run === undefined) throw new InterpreterRefusal('run_not_found', `no run ${id}`)
    return run
  }

  #default(language = 'python'): TestContext {
    const id = `default-${language}`
    return this.#contexts.get(id) ?? this.create(language, '/workspace', id)
  }

  async #run(context: TestContext, run: TestRun, { code, timeout_secs, env = {} }: NewRun): Promise<void> {
    context.state = 'busy'
    context.execution_count += 1
    const timer = !timeout_secs ? undefined : setTimeout(() => run.stop('timed_out'), timeout_secs * 1000)
    const variables = this.#variables.get(context.context_id) ?? new Map()
    const status: ScriptEnd = await runScript(run, code, { variables, env })
    clearTimeout(timer)
    context.state = status === 'kernel_died' || status === 'out_of_memory' ? 'dead' : 'idle'
    const { execution_count } = context
    const state_lost = context.state === 'dead'
    run.add({ type: 'end', status, execution_count, truncated: false, duration_ms: 1, state_lost })
  }

  #stopAll(contextId: string, how: 'interrupted' | 'kernel_died'): void {
    for (const run of this.#runs.values()) if (run.contextId === contextId && !run.hasEnded) run.stop(how)
  }
}
