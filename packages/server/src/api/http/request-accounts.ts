import type { ConnectionLimits } from '../../foundation/config/connection-limits.ts'
import type { RequestEnd } from '../../foundation/wire/request-end.ts'
import { BodyRoom } from '../../tenancy/limits/body-room.ts'
import { KeptMemory } from '../../tenancy/limits/kept-memory.ts'
import { BodyScheduler } from './body-scheduler.ts'
import type { KeptFor } from './read-json.ts'
import { RequestsInFlight } from './requests-in-flight.ts'

/** The accounts of all requests: how many are in progress, and the memory of bodies and answers. */
export class RequestAccounts {
  readonly inFlight: RequestsInFlight
  readonly #bodies = new BodyRoom()
  readonly #scheduler = new BodyScheduler()
  readonly #kept = new KeptMemory()
  readonly #bodyTimeoutMs: number

  constructor({ maxRequestsPerProject, bodyTimeoutMs }: ConnectionLimits) {
    this.inFlight = new RequestsInFlight(maxRequestsPerProject)
    this.#bodyTimeoutMs = bodyTimeoutMs
  }

  /**
   * Opens the account of one request. `payer` is its project, or an empty text if its route takes
   * no key.
   */
  open(payer: string, end: RequestEnd): KeptFor {
    return {
      room: this.#bodies,
      scheduler: this.#scheduler,
      payer,
      request: this.#kept.open(payer, end),
      timeoutMs: this.#bodyTimeoutMs,
    }
  }
}
