import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { runProgram } from './run-program.ts'

const installTimeoutMs = 300_000
const startTimeoutMs = 60_000

/** The ways to send a request from Python: both clients, and plain requests of `http.client`. */
export type PythonWay = 'sync' | 'async' | 'raw'

/** A process that measures the Python client. It does one round at a time. */
export class PythonClient implements AsyncDisposable {
  readonly #child: ChildProcess
  readonly #lines: AsyncIterator<string>

  private constructor(child: ChildProcess, lines: AsyncIterator<string>) {
    this.#child = child
    this.#lines = lines
  }

  /** Starts the process, for one runtime and one file to send. */
  static async start(options: {
    readonly python: string
    readonly service: Readonly<Record<string, string>>
    readonly runtimeId: string
    readonly file: string
    readonly signal: AbortSignal
  }): Promise<PythonClient> {
    const program = new URL('./python-client.py', import.meta.url).pathname
    const child = spawn(options.python, [program, options.runtimeId, options.file], {
      cwd: '/',
      env: { PATH: process.env.PATH, ...options.service },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const client = new PythonClient(child, createInterface({ input: child.stdout })[Symbol.asyncIterator]())
    try {
      await client.#line(AbortSignal.any([options.signal, AbortSignal.timeout(startTimeoutMs)]))
      return client
    } catch (error) {
      await client[Symbol.asyncDispose]()
      throw error
    }
  }

  /** Does a round, and returns the milliseconds of each operation. */
  async measure(
    round: { readonly way: PythonWay; readonly what: 'commands' | 'upload'; readonly count: number },
    signal: AbortSignal,
  ): Promise<readonly number[]> {
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
    const ended = this.#child.exitCode === null ? once(this.#child, 'exit') : null
    this.#child.kill('SIGKILL')
    await ended
  }
}

/** Returns the Python with the client of this repository, which its tests use too. */
export async function pythonWithClient(repo: string, signal: AbortSignal): Promise<string> {
  const prepare = ['bash', join(repo, 'scripts/prepare-python.sh')]
  return (await runProgram(prepare, { timeoutMs: installTimeoutMs, signal })).trim()
}
