import { HoltError } from '@holt/protocol'
import { limitReached } from '../../foundation/errors/limit-reached.ts'
import type { RequestEnd } from '../../foundation/wire/request-end.ts'
import { maxBytesOfProject, tooManyBodies } from './body-room.ts'
import { ProjectRoom, RoomAccount } from './project-room.ts'

const mib = 2 ** 20

/**
 * The bytes of each kept part (a body, an output or an answer) that are not counted. A command with
 * little output is therefore kept whole, and a small request is accepted, however much others keep.
 */
export const freeBytes = 16 * 1024

/**
 * The memory that requests keep until they end: their bodies, the output of commands that they wait
 * for, and their answers.
 */
export class KeptMemory {
  readonly #room = new ProjectRoom({ maxBytes: 256 * mib, maxBytesOfProject })

  /** Opens the account of one request. All of it is released when the request ends. */
  open(projectId: string, end: RequestEnd): KeptByRequest {
    const account = new KeptByRequest(this.#room, projectId)
    end.once(() => account.close())
    return account
  }
}

/** The memory that one request keeps. */
export class KeptByRequest {
  readonly #account: RoomAccount
  /** The bytes of the answer that are counted already. */
  #ofAnswer = 0

  constructor(room: ProjectRoom, projectId: string) {
    this.#account = new RoomAccount(room, projectId)
  }

  /**
   * Keeps more bytes for the answer. Returns false if there is no room. The caller must not keep
   * them then.
   */
  take(bytes: number): boolean {
    return this.#takeOfAnswer(bytes) === null
  }

  /**
   * Keeps a body. Throws `rate_limited` if the project has used its part, `unavailable` if there is
   * no room.
   */
  takeBody(bytes: number): void {
    const full = this.#account.take(Math.max(0, bytes - freeBytes))
    if (full !== null) throw tooManyBodies(full)
  }

  /**
   * Keeps an answer that the client can request again, until the client has read it. Throws as
   * `takeBody` does.
   */
  takeAnswer(bytes: number): void {
    const full = this.#takeOfAnswer(this.#uncounted(bytes))
    if (full !== null) throw tooManyAnswers(full)
  }

  /**
   * Keeps an answer that is sent in any case. It takes room from those that clients can request
   * again.
   */
  noteAnswer(bytes: number): void {
    this.#takeOfAnswer(this.#uncounted(bytes))
  }

  /** Releases everything. Later bytes find no room, because nobody waits for them. */
  close(): void {
    this.#account[Symbol.dispose]()
  }

  #uncounted(bytes: number): number {
    return Math.max(0, bytes - freeBytes - this.#ofAnswer)
  }

  #takeOfAnswer(bytes: number): 'project' | 'service' | null {
    const full = this.#account.take(bytes)
    if (full === null) this.#ofAnswer += bytes
    return full
  }
}

function tooManyAnswers(full: 'project' | 'service'): HoltError {
  return full === 'project'
    ? limitReached('rate_limited', 'The clients of the project are slow to take too many large answers at once.', {
        limit: maxBytesOfProject,
      })
    : new HoltError('unavailable', 'Clients are slow to take too many large answers at once.')
}
