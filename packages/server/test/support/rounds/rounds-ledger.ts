import { Fact } from '@holt/testkit'

/** The states of a runtime that last. */
export type LastingState = 'running' | 'paused' | 'terminated' | 'failed'

/** The knowledge about a runtime. */
export interface KnownRuntime {
  readonly id: string
  readonly state: Fact<LastingState>
  /** The content of each file, by its path. */
  readonly files: Map<string, Fact<string | null>>
}

/** A request whose answer was lost. It is sent again under the same `Idempotency-Key`. */
export interface OpenRequest {
  readonly path: string
  readonly json: object
  readonly key: string
}

/** The facts that a fleet has acknowledged, and those that a lost answer has left open. */
export class RoundsLedger {
  readonly runtimes = new Map<string, KnownRuntime>()
  readonly creates: OpenRequest[] = []
  /** Secrets of keys, with the two possible states. */
  readonly keys = new Map<string, { readonly id: string; readonly state: Fact<'valid' | 'revoked'> }>()
  /** The acknowledged revisions of the policy that all clients replace. */
  readonly revisions: number[] = []
  acknowledged = 0

  addRuntime(id: string): KnownRuntime {
    const known = this.runtimes.get(id)
    if (known !== undefined) return known
    const added = { id, state: new Fact<LastingState>(id, 'running'), files: new Map<string, Fact<string | null>>() }
    this.runtimes.set(id, added)
    return added
  }
}
