import { createHash, randomBytes } from 'node:crypto'
import { Fact } from '@holt/testkit'
import { runtimesPath } from '../../../e2e/support/api.ts'
import { eventKey, type KnownRuntime } from './ledger.ts'
import { type Change, type Json, keyed } from './requests.ts'
import type { Parts } from './settings-worker.ts'

/**
 * The part of a worker that writes files and runs commands in a runtime, which resumes a paused
 * one, and pauses it.
 */
export class UsingWorker {
  readonly #name: string
  readonly #parts: Parts
  #made = 0

  constructor(name: string, parts: Parts) {
    this.#name = name
    this.#parts = parts
  }

  /** Makes one change. A pause is the rarest. */
  step(runtime: KnownRuntime): Promise<void> {
    const step = this.#parts.chance.below(9)
    if (step === 0) return this.#pause(runtime)
    return step % 2 === 0 ? this.#write(runtime) : this.#run(runtime)
  }

  #write(runtime: KnownRuntime): Promise<void> {
    const { ask, chance, requests } = this.#parts
    const { id, files } = runtime
    const body = randomBytes(1 + chance.below(200_000))
    const digest = createHash('sha256').update(body).digest('hex')
    this.#made += 1
    const path = `/srv/${this.#name}-${this.#made}`
    const fact = new Fact<string | null>(`${path} in ${id}`, null)
    files.set(path, fact)
    return requests.make({
      ...this.#waking(runtime, () => fact.is(digest)),
      send: () => ask('PUT', `${runtimesPath}/${id}/files/content`, { query: { path }, body }),
      begin: () => {
        runtime.state.mayBecome(() => 'running')
        fact.mayBecome(() => digest)
      },
      expected: [200, 201],
      mustBeKnown: false,
    })
  }

  #run(runtime: KnownRuntime): Promise<void> {
    const { ask, chance, requests } = this.#parts
    const code = chance.below(100)
    const command = `sleep 0.0${chance.below(10)}; exit ${code}`
    return requests.make({
      ...this.#waking(runtime, ({ command_id }) => runtime.commands.set(command_id, code)),
      send: keyed(ask, `${runtimesPath}/${runtime.id}/commands`, { command }),
      expected: [200],
      mustBeKnown: true,
    })
  }

  /** Returns the common part of requests that resume a paused runtime. */
  #waking({ id, state }: KnownRuntime, acknowledge: (json: Json) => void): Pick<Change, 'begin' | 'acknowledge'> {
    const { ledger } = this.#parts
    const wasPaused = state.isKnown('paused')
    return {
      begin: () => state.mayBecome(() => 'running'),
      acknowledge: (json) => {
        acknowledge(json)
        state.is('running')
        if (wasPaused) ledger.expectEvent(eventKey('runtime.running', id))
      },
    }
  }

  #pause({ id, state }: KnownRuntime): Promise<void> {
    const { ask, ledger, requests } = this.#parts
    const wasRunning = state.isKnown('running')
    return requests.make({
      send: () => ask('POST', `${runtimesPath}/${id}/pause`),
      begin: () => state.mayBecome(() => 'paused'),
      acknowledge: () => {
        state.is('paused')
        if (wasRunning) ledger.expectEvent(eventKey('runtime.paused', id))
      },
      expected: [200],
      mustBeKnown: false,
    })
  }
}
