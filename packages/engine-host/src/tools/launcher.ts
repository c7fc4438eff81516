import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'

/** The end of a program: with a code, by a signal, or with the error of a start that failed. */
export interface Launched {
  readonly code: number | null
  readonly signal: string
  readonly error: string
  /** Base64 of the output, if it was captured. */
  readonly stdout: string | null
  readonly stderr: string | null
}

/** A program that was requested. */
export interface Launch {
  readonly ended: Promise<Launched>
  /** Kills it with SIGKILL. */
  kill(): void
}

/**
 * Starts programs through a small process. To start a program itself, Node copies its own page
 * tables. That blocks it for 5 ms for each 100 MiB that the service has grown to. The small process
 * (`guest/internal/launch`) copies nothing.
 *
 * It ends with this process, and its running programs then continue. It disables core dumps of
 * itself, of this process and so of all programs (RLIMIT_CORE, core(5)): they may hold secrets.
 */
export class Launcher {
  readonly #child: ChildProcess & { readonly stdin: Writable; readonly stdout: Readable }
  readonly #waiting = new Map<number, PromiseWithResolvers<Launched>>()
  #count = 0
  #lost: Error | null = null

  /**
   * Starts the process. `binary` is the guest's program. Its environment is that of all programs it
   * starts.
   */
  constructor(binary: string, env: Readonly<Record<string, string>>) {
    this.#child = spawn(binary, ['launch', String(process.pid)], {
      // The binary's path identifies the runtime of a process; this one belongs to no runtime.
      argv0: 'holt-launch',
      cwd: '/',
      env,
      detached: true,
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    this.#child.on('error', (error) => this.#lose(error))
    this.#child.on('exit', () => this.#lose(new Error('the process that starts programs has ended')))
    this.#child.stdin.on('error', (error) => this.#lose(error))
    createInterface({ input: this.#child.stdout }).on('line', (line) => this.#settle(line))
    this.#hold(false)
  }

  /** False after the process was lost. */
  get works(): boolean {
    return this.#lost === null
  }

  /**
   * Starts a program. Rejects if the process is lost before it has reported the end of the program.
   */
  launch(argv: readonly string[], { capture }: { readonly capture: boolean }): Launch {
    const id = ++this.#count
    const end = Promise.withResolvers<Launched>()
    if (this.#lost !== null) return { ended: Promise.reject(this.#lost), kill: () => {} }
    if (this.#waiting.size === 0) this.#hold(true)
    this.#waiting.set(id, end)
    this.#send({ id, argv, capture })
    return { ended: end.promise, kill: () => this.#send({ id, kill: true }) }
  }

  /** Ends the process. */
  close(): void {
    this.#child.stdin.end()
  }

  #send(request: object): void {
    this.#child.stdin.write(`${JSON.stringify(request)}\n`)
  }

  #settle(line: string): void {
    const result = JSON.parse(line) as Launched & { readonly id: number }
    this.#waiting.get(result.id)?.resolve(result)
    this.#waiting.delete(result.id)
    if (this.#waiting.size === 0) this.#hold(false)
  }

  #lose(error: Error): void {
    this.#lost ??= error
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }

  /** Keeps this process alive only while a program's result is awaited. */
  #hold(held: boolean): void {
    for (const part of [this.#child, this.#child.stdin, this.#child.stdout] as unknown as NodeJS.ReadStream[])
      held ? part.ref() : part.unref()
  }
}
