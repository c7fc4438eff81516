import { createInterface, type Interface } from 'node:readline'
import type { CodeContext, Runtime, StreamCodeOptions } from '@holt/sdk'
import { reportError } from '../errors/report-error.ts'
import { say } from '../output/print.ts'
import { historyPath, keepHistory, readHistory } from './history.ts'
import { isComplete } from './is-complete.ts'
import { type CodeEnd, tellEnd } from './run-code.ts'
import { type Shown, showItem } from './show-item.ts'

/** A session at the terminal. */
export interface Repl {
  readonly runtime: Runtime
  readonly language: string
  readonly options: StreamCodeOptions
  readonly shown: Shown
}

/** The commands of the session, which are code in no language. */
const commands: readonly string[] = ['.help', '.restart', '.exit']

const help = `holt: .restart   forget the variables
holt: .exit      leave, as Ctrl-D does
holt: Ctrl-C     interrupt the code, or drop what is typed`

/** Reads code from the terminal and runs it, until its end. Returns the exit code. */
export async function runRepl(repl: Repl): Promise<number> {
  const path = historyPath()
  const readline = createInterface({
    input: process.stdin,
    output: process.stdout,
    history: readHistory(path),
    historySize: 1_000,
    removeHistoryDuplicates: true,
  })
  readline.on('history', (lines) => keepHistory(path, lines))
  say('holt: .help lists the keys. Variables stay when you leave.')
  const session = new Session(repl, readline)
  try {
    await session.read()
    return 0
  } finally {
    readline.close()
  }
}

class Session {
  readonly #repl: Repl
  readonly #readline: Interface
  #lines: string[] = []
  #number = 1
  /** The run in progress: its id once it has started, and the way to leave it. */
  #run: { id: string | null; readonly left: AbortController; interrupts: number } | null = null

  constructor(repl: Repl, readline: Interface) {
    this.#repl = repl
    this.#readline = readline
  }

  async read(): Promise<void> {
    this.#readline.on('SIGINT', () => void this.#interrupt())
    this.#prompt()
    for await (const line of this.#readline) {
      if (this.#lines.length === 0 && commands.includes(line.trim())) {
        if (line.trim() === '.exit') return
        if (line.trim() === '.help') say(help)
        else await this.#restart()
      } else if (this.#takes(line)) await this.#execute(this.#lines.splice(0).join('\n'))
      this.#prompt()
    }
  }

  /** Adds a line. Returns true if the statement is whole. */
  #takes(line: string): boolean {
    if (this.#lines.length > 0 || line.trim() !== '') this.#lines.push(line)
    return this.#lines.length > 0 && isComplete(this.#lines, this.#repl.language)
  }

  async #restart(): Promise<void> {
    const { runtime, language, options } = this.#repl
    const context: CodeContext | string = options.context ?? `default-${language}`
    try {
      await runtime.code.contexts.restart(context)
      this.#number = 1
      say('holt: the context is restarted')
    } catch (error) {
      reportError(error)
    }
  }

  async #execute(code: string): Promise<void> {
    const { runtime, options, shown } = this.#repl
    const run = { id: null as string | null, left: new AbortController(), interrupts: 0 }
    this.#run = run
    try {
      for await (const item of runtime.code.stream(code, { ...options, signal: run.left.signal })) {
        if (item.type === 'start') run.id = item.run_id
        await showItem(item, shown)
        if (item.type === 'end') this.#end(item)
      }
    } catch (error) {
      if (!run.left.signal.aborted) reportError(error)
    } finally {
      this.#run = null
    }
  }

  #end(end: CodeEnd): void {
    if (end.execution_count !== null) this.#number = end.execution_count + 1
    else if (end.state_lost) this.#number = 1
    tellEnd(end, this.#repl.runtime)
  }

  /** Handles Ctrl-C: interrupts the run, leaves it at the second time, or drops the typed text. */
  async #interrupt(): Promise<void> {
    const run = this.#run
    if (run === null) {
      this.#lines = []
      process.stdout.write('\n')
      this.#readline.write(null, { ctrl: true, name: 'u' })
      this.#prompt()
      return
    }
    run.interrupts += 1
    if (run.id === null || run.interrupts > 1) run.left.abort()
    else await this.#repl.runtime.code.interrupt(run.id).catch((error: unknown) => reportError(error))
  }

  #prompt(): void {
    const first = `In [${this.#number}]: `
    this.#readline.setPrompt(this.#lines.length === 0 ? first : `${' '.repeat(Math.max(0, first.length - 5))}...: `)
    this.#readline.prompt()
  }
}
