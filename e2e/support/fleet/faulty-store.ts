import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { nodeBinary } from '../service-process.ts'

/** The ways in which an object store behaves. */
export type StoreBehaviour = 'works' | 'is away' | 'is slow' | 'answers 503 to half' | 'is full' | 'flips a bit'

/** The port at which hosts reach the store. */
const port = 9000

/**
 * A proxy before an S3, in a network namespace of its own, so that the way to it can be cut. It
 * behaves as a test says.
 */
export class FaultyStore implements AsyncDisposable {
  /** The `HOST:PORT` at which it listens. */
  readonly at: string
  readonly #process: ChildProcess

  private constructor(at: string, process: ChildProcess) {
    this.at = at
    this.#process = process
  }

  /** Starts a proxy that passes requests on to `target`, a `HOST:PORT`. */
  static async start({
    namespace,
    address,
    target,
  }: {
    readonly namespace: string
    readonly address: string
    readonly target: string
  }): Promise<FaultyStore> {
    const at = `${address}:${port}`
    const program = [nodeBinary(), join(import.meta.dirname, 'store-proxy.ts'), at, ...target.split(':')]
    const child = spawn('nsenter', [`--net=/run/netns/${namespace}`, ...program], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    await once(child, 'message')
    return new FaultyStore(at, child)
  }

  /** Changes its behaviour. Requests that are being answered end as they began. */
  async behave(behaviour: StoreBehaviour): Promise<void> {
    const set = once(this.#process, 'message')
    this.#process.send(behaviour)
    await set
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return
    const ended = once(this.#process, 'exit')
    this.#process.kill('SIGKILL')
    await ended
  }
}
