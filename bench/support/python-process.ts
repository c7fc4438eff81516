import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

/**
 * The time for the process to begin, in milliseconds. It imports libraries, and may start a kernel.
 */
const startTimeoutMs = 60_000

/** The time for the process to end by itself, in milliseconds. It may have to end a kernel. */
const endTimeoutMs = 5_000

/** The program of a process, and its surroundings. */
export interface PythonProgram {
  readonly python: string
  /** The path of the program. */
  readonly program: string
  readonly args?: readonly string[]
  /** The variables in addition to the path. */
  readonly environment?: Readonly<Record<string, string>>
}

/**
 * A Python process that measures. It does one round at a time: it reads a JSON line, and answers
 * with the milliseconds of each operation. Its first line says that it is ready.
 */
export class PythonProcess<Round> implements AsyncDisposable {
  readonly #child: ChildProcess
  readonly #lines: AsyncIterator<string>

  private constructor(child: ChildProcess, lines: AsyncIterator<string>) {
    this.#child = child
    this.#lines = lines
  }

  /** Starts the process, and waits until it is ready. */
  static async start<Round>(asked: PythonProgram, signal: AbortSignal): Promise<PythonProcess<Round>> {
    const child = spawn(asked.python, [asked.program, ...(asked.args ?? [])], {
      cwd: '/',
      env: { PATH: process.env.PATH, ...asked.environment },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    const started = new PythonProcess<Round>(child, lines)
    try {
      await started.#line(AbortSignal.any([signal, AbortSignal.timeout(startTimeoutMs)]))
      return started
    } catch (error) {
      await started[Symbol.asyncDispose]()
      throw error
    }
  }

  /** Does a round, and returns the milliseconds of each operation. */
  async measure(round: Round, signal: AbortSignal): Promise<readonly number[]> {
    this.#child.stdin?.write(`${JSON.stringify(round)}\n`)
    return JSON.parse(await this.#line(signal))
  }

  /** Returns the next line. Rejects if the process ends before it. */
  async #line(signal: AbortSignal): Promise<string> {
    const end = () => this.#child.kill('SIGKILL')
    signal.addEventListener('abort', end, { once: true })
    try {
      const { value, done } = await this.#lines.next()
      signal.throwIfAborted()
      if (done === true) throw new Error('the Python process has ended')
      return value
    } finally {
      signal.removeEventListener('abort', end)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const ended = once(this.#child, 'exit')
    this.#child.stdin?.end()
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), endTimeoutMs)
    await ended
    clearTimeout(timer)
  }
}
