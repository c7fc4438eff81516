import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const startTimeoutMs = 30_000

/** A file server in its own process that only pipes: the cost of moving bytes in Node alone. */
export class PipeServer implements AsyncDisposable {
  readonly url: string
  readonly #dir: string
  readonly #child: ChildProcess

  private constructor(url: string, dir: string, child: ChildProcess) {
    this.url = url
    this.#dir = dir
    this.#child = child
  }

  /** Starts the server, with its files below a directory. */
  static async start(parent: string, signal: AbortSignal): Promise<PipeServer> {
    await mkdir(parent, { recursive: true })
    const dir = await mkdtemp(join(parent, 'pipe-'))
    const program = new URL('./pipe-program.ts', import.meta.url).pathname
    const child = spawn(process.execPath, [program, dir], { cwd: '/', stdio: ['ignore', 'pipe', 'inherit'] })
    try {
      const lines = createInterface({ input: child.stdout })
      const limit = AbortSignal.any([signal, AbortSignal.timeout(startTimeoutMs)])
      const [port] = await once(lines, 'line', { signal: limit })
      return new PipeServer(`http://127.0.0.1:${Number(port)}`, dir, child)
    } catch (error) {
      child.kill('SIGKILL')
      await rm(dir, { recursive: true, force: true })
      throw error
    }
  }

  /** Sends a file and waits for the answer. */
  async put(name: string, body: ReadableStream<Uint8Array>, signal: AbortSignal): Promise<void> {
    const response = await fetch(`${this.url}/${name}`, { method: 'PUT', body, duplex: 'half', signal } as RequestInit)
    await response.arrayBuffer()
    if (!response.ok) throw new Error(`the pipe server answered ${response.status}`)
  }

  /** Fetches a file and returns its chunks. */
  async get(name: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    const response = await fetch(`${this.url}/${name}`, { signal })
    if (!response.ok || response.body === null) throw new Error(`the pipe server answered ${response.status}`)
    return response.body
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = this.#child.exitCode === null ? once(this.#child, 'exit') : null
    this.#child.kill('SIGKILL')
    await ended
    await rm(this.#dir, { recursive: true, force: true })
  }
}
