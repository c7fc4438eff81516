import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'

/** How a program ended: with a code, by a signal, or not at all because it could not be started. */
export interface Launched {
  readonly code: number | null
  readonly signal: string
  readonly error: string
  /** Base64 of what it said, where that was captured. */
  readonly stdout: string | null
  readonly stderr: string | null
}

/** A program that was asked for. */
export interface Launch {
  readonly ended: Promise<Launched>
  /** Ends it with SIGKILL. */
  kill(): void
}

/**
 * Starts programs by way of a small process. To start one, Node copies the page tables of its own,
 * and everything else stands still meanwhile: 5 ms for each 100 MiB that the service has grown to.
 * The small process (`guest/internal/launch`) copies nothing. It ends with this one; programs that
 * run then go on. It takes from itself, from this process and so from all programs the right to
 * leave their memory in a file when they crash (RLIMIT_CORE, core(5)): there may be secrets in it.
 */
export class Launcher {
  readonly #child: ChildProcess & { readonly stdin: Writable; readonly stdout: Readable }
  readonly #waiting = new Map<number, PromiseWithResolvers<Launched>>()
  #count = 0
  #lost: Error | null = null

  /** `binary` is the guest's program. Its environment is that of all programs it starts. */
  constructor(binary: string, env: Readonly<Record<string, string>>) {
    this.#child = spawn(binary, ['launch', String(process.pid)], {
      // The binary's path tells whose runtime a process is; this one is nobody's.
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

  /** False from when the process was lost. */
  get works(): boolean {
    return this.#lost === null
  }

  /**
   * Starts a program. Rejects where the process is lost before it has told how the program ended.
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

  /** Only while somebody waits does the process keep this one from ending. */
  #hold(held: boolean): void {
    for (const part of [this.#child, this.#child.stdin, this.#child.stdout] as unknown as NodeJS.ReadStream[])
      held ? part.ref() : part.unref()
  }
}
