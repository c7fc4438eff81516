import { HoltError } from '@holt/protocol'
import { HostRefused } from './forwarder.ts'

/** The errors with which a host refuses a runtime that another one may have room for. */
const refusals: ReadonlySet<string> = new Set(['capacity_exhausted', 'disk_full'])

/** The hosts that a runtime is tried on, one after the refusal of another. */
const mostTried = 3

/** Returns true if a host has refused a runtime, and nothing of it exists there. */
export function isRefusal(error: unknown): boolean {
  return error instanceof HostRefused || (error instanceof HoltError && refusals.has(error.code))
}

/** The hosts that have refused one runtime, three at most, with their errors. */
export class Refusals {
  readonly #errors = new Map<string, unknown>()

  /** The hosts that are not asked again. */
  get hostIds(): ReadonlySet<string> {
    return new Set(this.#errors.keys())
  }

  /** The number of hosts that may still be asked. */
  get left(): number {
    return mostTried - this.#errors.size
  }

  /** Notes the refusal of a host. Throws every other error. */
  note(hostId: string, error: unknown): void {
    if (!isRefusal(error)) throw error
    this.#errors.set(hostId, error instanceof HostRefused ? error.answer : error)
  }

  /** The last refusal, for the client whose runtime no host takes. Undefined: there is none. */
  get last(): unknown {
    return [...this.#errors.values()].at(-1)
  }
}
