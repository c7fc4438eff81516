import { EngineError, type Observation, type Observed, type RuntimeId } from '@holt/engine'
import type { FakeGuest } from './guest/fake-guest.ts'

/** A runtime of a fake engine. */
export interface FakeRuntime {
  readonly observed: Observed
  readonly guest: FakeGuest
}

/** The runtimes of a fake engine, and their observers. */
export class FakeRuntimes {
  readonly #runtimes = new Map<RuntimeId, FakeRuntime>()
  readonly #observers = new Set<(observation: Observation) => void>()

  get(id: RuntimeId): FakeRuntime | null {
    return this.#runtimes.get(id) ?? null
  }

  list(): readonly FakeRuntime[] {
    return [...this.#runtimes.values()]
  }

  /** Returns a runtime that has not ended. Throws kind `not_found` or `gone` otherwise. */
  find(id: RuntimeId): FakeRuntime {
    const runtime = this.#runtimes.get(id)
    if (runtime === undefined) throw new EngineError('not_found', `there is no runtime ${id}`)
    if (runtime.observed.state === 'ended') throw new EngineError('gone', `${id} has ended`)
    return runtime
  }

  /** Adds a runtime, or replaces the one of the same id. */
  set(runtime: FakeRuntime): void {
    this.#runtimes.set(runtime.observed.id, runtime)
    this.#tell({ type: 'present', observed: runtime.observed })
  }

  /** Changes a part of the observed state of a runtime. */
  change({ observed, guest }: FakeRuntime, change: Partial<Observed>): void {
    this.set({ guest, observed: { ...observed, ...change } })
  }

  delete(id: RuntimeId): void {
    this.#runtimes.delete(id)
    this.#tell({ type: 'absent', id })
  }

  async *observe(signal: AbortSignal): AsyncGenerator<Observation> {
    const queue: Observation[] = this.list().map(({ observed }) => ({ type: 'present', observed }))
    queue.push({ type: 'listed' })
    let wake = () => {}
    const observer = (observation: Observation) => {
      queue.push(observation)
      wake()
    }
    this.#observers.add(observer)
    const onAbort = () => wake()
    signal.addEventListener('abort', onAbort)
    try {
      while (!signal.aborted) {
        const next = queue.shift()
        if (next !== undefined) yield next
        else await new Promise<void>((resolve) => (wake = resolve))
      }
    } finally {
      this.#observers.delete(observer)
      signal.removeEventListener('abort', onAbort)
    }
  }

  #tell(observation: Observation): void {
    for (const observer of this.#observers) observer(observation)
  }
}
