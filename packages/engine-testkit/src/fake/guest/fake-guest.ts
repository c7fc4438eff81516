import { Readable } from 'node:stream'
import { EngineError, type GuestLink, type GuestRequest, type GuestResponse } from '@holt/engine'
import type { GuestNetwork } from '@holt/guest-client'
import { HoltError } from '@holt/protocol'
import { answerRequest } from './answer-request.ts'
import type { FakeAnswer } from './fake-answer.ts'
import { FakeBaselines } from './fake-baselines.ts'
import { FakeChanges } from './fake-changes.ts'
import { FakeFiles } from './fake-files.ts'
import { FakeIdentity } from './fake-identity.ts'
import { FakeOperations } from './fake-operations.ts'
import { FakePorts } from './fake-ports.ts'
import { FakeProcesses } from './fake-processes.ts'
import { FakeTrees } from './fake-trees.ts'

/**
 * A guest in memory that speaks guest/PROTOCOL.md. Its processes come from a small table of
 * programs, and its files are a tree of nodes. It is a `GuestLink` itself, without a socket
 * between.
 */
export class FakeGuest implements GuestLink {
  readonly files: FakeFiles
  readonly trees: FakeTrees
  readonly processes: FakeProcesses
  readonly ports: FakePorts
  readonly changes: FakeChanges
  readonly #identity: FakeIdentity
  readonly #operations: FakeOperations
  readonly #baselines: FakeBaselines
  #stopped = false
  /** A promise that resolves when the guest is thawed; null while it runs. */
  #frozen: PromiseWithResolvers<void> | null = null
  readonly #answers = new Set<Readable>()

  constructor(copied?: FakeGuest) {
    this.files = copied?.files.copy() ?? new FakeFiles()
    this.trees = copied?.trees.copy(this.files) ?? new FakeTrees(this.files)
    this.processes = copied?.processes.copy() ?? new FakeProcesses()
    this.ports = copied?.ports.copy() ?? new FakePorts()
    this.changes = copied?.changes.copy() ?? new FakeChanges()
    this.#identity = copied === undefined ? new FakeIdentity() : copied.#identity.copy()
    this.#operations = copied === undefined ? new FakeOperations() : copied.#operations.copy()
    this.#baselines = copied === undefined ? new FakeBaselines() : copied.#baselines.copy()
  }

  get connected(): boolean {
    return !this.#stopped
  }

  /** The identity from `bind`, or null. */
  get identity(): FakeIdentity['bound'] {
    return this.#identity.bound
  }

  /** The network from `bind` or the last `PUT /v1/network`. */
  get network(): GuestNetwork | null {
    return this.#identity.network
  }

  /**
   * Returns the part of it that a checkpoint has: processes, files and identity. The copy does not
   * run until `resume`.
   */
  copy(): FakeGuest {
    return new FakeGuest(this)
  }

  /** Starts a copy. */
  resume(): void {
    this.processes.resume()
  }

  /** Freezes the guest. Requests wait. */
  freeze(): void {
    this.#frozen ??= Promise.withResolvers()
    this.processes.pause()
  }

  /** Ends what `freeze` began. */
  thaw(): void {
    this.#frozen?.resolve()
    this.#frozen = null
    this.processes.resume()
  }

  /**
   * Breaks the connection. Every unfinished answer ends as `unavailable`. The next request finds a
   * new connection.
   */
  disconnect(): void {
    for (const answer of this.#answers)
      answer.destroy(new EngineError('unavailable', 'the connection to the guest broke'))
  }

  /** Ends the guest and all that it runs. */
  stop(): void {
    this.#stopped = true
    this.#frozen?.resolve()
    this.processes.stop()
    this.ports.stop()
    this.changes.stop()
  }

  async request(request: GuestRequest): Promise<GuestResponse> {
    request.signal.throwIfAborted()
    await this.#whenThawed(request.signal)
    if (this.#stopped) throw new EngineError('unavailable', 'the guest is not connected')
    try {
      const response = respond(await this.#operations.once(request, () => this.#answer(request)))
      response.body.on('error', () => {
        // The reader receives the error. An abandoned body may have no reader yet.
      })
      this.#answers.add(response.body)
      response.body.once('close', () => this.#answers.delete(response.body))
      request.signal.addEventListener('abort', () => response.body.destroy(new EngineError('unavailable', 'given up')))
      return response
    } catch (error) {
      if (error instanceof HoltError) return failure(error)
      throw error
    }
  }

  #answer(request: GuestRequest): Promise<FakeAnswer> {
    const { files, trees, processes, ports, changes } = this
    const kept = { identity: this.#identity, operations: this.#operations, baselines: this.#baselines }
    const parts = { files, trees, processes, ports, changes, ...kept }
    return answerRequest({ ...parts, disconnect: () => this.disconnect() }, request)
  }

  #whenThawed(signal: AbortSignal): Promise<void> {
    if (this.#frozen === null) return Promise.resolve()
    const { promise } = this.#frozen
    return new Promise((resolve, reject) => {
      const abort = () => reject(signal.reason)
      signal.addEventListener('abort', abort, { once: true })
      promise.then(() => {
        signal.removeEventListener('abort', abort)
        resolve()
      }, reject)
    })
  }
}

/** Returns a guest that starts with the tree of an image. */
export function bootFrom(tree: Buffer | null): FakeGuest {
  const guest = new FakeGuest()
  if (tree !== null) guest.trees.load(tree)
  return guest
}

function respond({ status = 200, headers = {}, json, stream }: FakeAnswer): GuestResponse {
  return { status, headers, body: stream ?? Readable.from([Buffer.from(JSON.stringify(json))]) }
}

function failure({ code, message, status, details }: HoltError): GuestResponse {
  return respond({ status, json: { error: { code, message, details } } })
}
