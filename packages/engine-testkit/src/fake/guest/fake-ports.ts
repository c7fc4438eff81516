import { PassThrough, Readable } from 'node:stream'
import type { GuestRequest } from '@holt/engine'
import { PortStream } from '@holt/guest-client'
import { HoltError } from '@holt/protocol'
import type { FakeAnswer } from './fake-answer.ts'

/** The handler of a program for a connection to its port. */
export type FakeProgram = (connection: PortStream) => void

/** The pause between two checks while a port is waited for, in milliseconds. */
const lookMs = 5

/** The ports of a fake guest. Each has a function that takes its connections. */
export class FakePorts {
  readonly #programs = new Map<number, FakeProgram>()
  readonly #open = new Map<PortStream, number>()

  /** Lets a program take the connections to a port. */
  listen(port: number, program: FakeProgram): void {
    this.#programs.set(port, program)
  }

  /** Lets nothing listen on a port any more. */
  close(port: number): void {
    this.#programs.delete(port)
  }

  /** Ends the program that listens on a port, with its connections. */
  end(port: number): void {
    this.close(port)
    for (const [connection, target] of this.#open) if (target === port) connection.resume().end()
  }

  /** Returns a copy with the same programs and without their connections. */
  copy(): FakePorts {
    const copy = new FakePorts()
    for (const [port, program] of this.#programs) copy.#programs.set(port, program)
    return copy
  }

  /** The number of open connections. */
  get connections(): number {
    return this.#open.size
  }

  list(): FakeAnswer {
    return { json: { ports: [...this.#programs.keys()].sort((a, b) => a - b) } }
  }

  async wait(port: number, waitMs: number, signal: AbortSignal): Promise<FakeAnswer> {
    const deadline = performance.now() + waitMs
    while (!this.#programs.has(port) && performance.now() < deadline && !signal.aborted)
      await new Promise((resolve) => setTimeout(resolve, lookMs))
    return { json: { port, listening: this.#programs.has(port) } }
  }

  /**
   * Returns the program's end of a connection. The other end is the request's body and the answer.
   */
  connect(port: number, { body, signal }: GuestRequest): FakeAnswer {
    const program = this.#programs.get(port)
    if (program === undefined) throw new HoltError('port_not_listening', `nothing listens on port ${port}`)
    if (!(body instanceof Readable)) throw new HoltError('invalid_request', 'a connection has a body')
    const answer = new PassThrough()
    answer.on('error', () => {
      // The host's end receives the error.
    })
    const connection = new PortStream({ incoming: body, outgoing: answer })
    const abort = () => connection.destroy()
    signal.addEventListener('abort', abort, { once: true })
    this.#open.set(connection, port)
    connection.on('error', () => {
      // The program may be gone, so nobody receives the error.
    })
    connection.once('close', () => {
      this.#open.delete(connection)
      signal.removeEventListener('abort', abort)
    })
    program(connection)
    return { stream: answer }
  }

  stop(): void {
    for (const connection of this.#open.keys()) connection.destroy(new Error('the guest stops'))
  }
}
