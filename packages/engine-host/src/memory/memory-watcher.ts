import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { EngineError, type RuntimeId } from '@holt/engine'
import { TOOL_ENV } from '../tools/run-tool.ts'

/** A line of the watcher's output (`guest/internal/memwatch`). */
interface Report {
  readonly id: RuntimeId
  readonly error?: string
  readonly full: boolean
}

/** A runtime to watch. */
export interface Watched {
  readonly id: RuntimeId
  /** The runtime's directory in the hierarchy that has the memory controller. */
  readonly dir: string
  /** The amounts of memory in use, in bytes, at which the kernel reports. */
  readonly thresholds?: readonly number[]
  /** The limit of the runtime, in bytes. Its processes are stopped above it. */
  readonly limit_bytes?: number
  /** The gVisor sandbox whose processes are stopped. Absent in the class `container`. */
  readonly sandbox?: { readonly socket: string; readonly container: string }
}

/** The events of a watcher. */
export interface MemoryListener {
  /** Called when a runtime may have reached its limit. */
  onFull(id: RuntimeId): void
  /** Called when the watcher has ended by itself, and no runtime is watched any more. */
  onLost(error: Error): void
}

/**
 * Reports when runtimes reach their memory limits. The watcher is the guest's binary, run on the
 * host. It ends with this process.
 */
export class MemoryWatcher {
  readonly #child: ChildProcess & { readonly stdin: Writable; readonly stdout: Readable }
  readonly #asked = new Map<RuntimeId, PromiseWithResolvers<void>>()
  readonly #listener: MemoryListener
  #ended = false

  constructor(binary: string, listener: MemoryListener) {
    this.#listener = listener
    this.#child = spawn(binary, ['watch-memory'], {
      // The binary's path as argv[0] would mark this process as part of a runtime.
      argv0: 'holt-watch-memory',
      cwd: '/',
      env: TOOL_ENV,
      detached: true,
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    this.#child.on('error', (error) => this.#lose(error))
    this.#child.on('exit', (code) => this.#lose(new Error(`the memory watcher ended with ${code}`)))
    this.#child.stdin.on('error', (error) => this.#lose(error))
    createInterface({ input: this.#child.stdout }).on('line', (line) => this.#take(JSON.parse(line) as Report))
    // The watcher must not keep this process from ending.
    for (const part of [this.#child, this.#child.stdin, this.#child.stdout] as unknown as NodeJS.ReadStream[])
      part.unref()
  }

  /**
   * Watches a runtime until its cgroup is gone. Resolves once that has begun, and rejects if it
   * cannot.
   */
  watch(watched: Watched): Promise<void> {
    const { id } = watched
    if (this.#ended) return Promise.reject(new EngineError('failed', 'the memory watcher has ended'))
    const asked = this.#asked.get(id) ?? Promise.withResolvers<void>()
    this.#asked.set(id, asked)
    this.#child.stdin.write(`${JSON.stringify(watched)}\n`)
    return asked.promise
  }

  /** Continues the processes of a runtime, if they were stopped. */
  continueRuntime(id: RuntimeId): void {
    if (!this.#ended) this.#child.stdin.write(`${JSON.stringify({ id, go_on: true })}\n`)
  }

  /** Ends the watcher, which first continues all processes that it has stopped. */
  close(): void {
    this.#ended = true
    this.#child.stdin.end()
    this.#refuse(new EngineError('unavailable', 'the engine is closed'))
  }

  #take({ id, error, full }: Report): void {
    if (full) {
      this.#listener.onFull(id)
      return
    }
    const asked = this.#asked.get(id)
    this.#asked.delete(id)
    if (error === undefined) asked?.resolve()
    else asked?.reject(new EngineError('failed', `memory of ${id} cannot be watched: ${error}`))
  }

  #lose(error: Error): void {
    if (this.#ended) return
    this.#ended = true
    this.#refuse(error)
    this.#listener.onLost(error)
  }

  #refuse(error: Error): void {
    for (const { reject } of this.#asked.values()) reject(error)
    this.#asked.clear()
  }
}
