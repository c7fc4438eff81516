/** The bytes and things that may wait in a queue before its source is stopped. */
const maxWaitingBytes = 128 * 1024
const maxWaiting = 256

/** The backpressure of a queue on its source, and the report of failures. */
export interface Flow {
  stop(): void
  go(): void
  failed(error: unknown): void
}

/**
 * Returns the flow of a source that feeds several queues. The source resumes when no queue stops
 * it.
 */
export function sharedFlow(source: Flow): Flow {
  let stops = 0
  return {
    stop: () => {
      stops += 1
      if (stops === 1) source.stop()
    },
    go: () => {
      stops -= 1
      if (stops === 0) source.go()
    },
    failed: (error) => source.failed(error),
  }
}

/** A bounded queue. Handles one thing at a time, and stops the source while too many wait. */
export class BoundedQueue<Thing> {
  readonly #handle: (thing: Thing) => Promise<void>
  readonly #flow: Flow
  readonly #waiting: { readonly thing: Thing; readonly bytes: number }[] = []
  #bytes = 0
  #working = false
  #stopped = false

  constructor(handle: (thing: Thing) => Promise<void>, flow: Flow) {
    this.#handle = handle
    this.#flow = flow
  }

  add(thing: Thing, bytes: number): void {
    this.#waiting.push({ thing, bytes })
    this.#bytes += bytes
    if (!this.#stopped && (this.#bytes > maxWaitingBytes || this.#waiting.length > maxWaiting)) {
      this.#stopped = true
      this.#flow.stop()
    }
    if (!this.#working) void this.#work()
  }

  async #work(): Promise<void> {
    this.#working = true
    try {
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
        await this.#handle(next.thing)
        this.#bytes -= next.bytes
        if (this.#stopped && this.#bytes <= maxWaitingBytes / 2 && this.#waiting.length <= maxWaiting / 2) {
          this.#stopped = false
          this.#flow.go()
        }
      }
    } catch (error) {
      this.#flow.failed(error)
    } finally {
      this.#working = false
    }
  }
}
