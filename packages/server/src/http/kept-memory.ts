import { HoltError } from '@holt/protocol'
import { limitReached } from '../limits/limit-reached.ts'
import { ProjectRoom, RoomAccount } from '../limits/project-room.ts'
import { maxBytesOfProject, tooManyBodies } from './body-room.ts'
import type { RequestEnd } from './request-end.ts'

const mib = 2 ** 20

/**
 * What a piece may have that is not counted. So a command with little to say is whole, and a small
 * request is taken, however much others keep.
 */
export const freeBytes = 16 * 1024

/**
 * What requests under way keep in memory until they are over: their bodies, the output of commands
 * that they wait for, and their answers.
 */
export class KeptMemory {
  readonly #room = new ProjectRoom({ maxBytes: 256 * mib, maxBytesOfProject })

  /** Opens the account of one request; all of it is given back when that is over. */
  open(projectId: string, end: RequestEnd): KeptByRequest {
    const account = new KeptByRequest(this.#room, projectId)
    end.once(() => account.close())
    return account
  }
}

/** What one request keeps. */
export class KeptByRequest {
  readonly #account: RoomAccount
  /** What is counted of the answer already. */
  #ofAnswer = 0

  constructor(room: ProjectRoom, projectId: string) {
    this.#account = new RoomAccount(room, projectId)
  }

  /**
   * Keeps more bytes for the answer. False where there is no room for them: then they are not to be
   * kept.
   */
  take(bytes: number): boolean {
    return this.#takeOfAnswer(bytes) === null
  }

  /**
   * Keeps a body. Throws `rate_limited` where the project has its part, `unavailable` where there
   * is no room.
   */
  takeBody(bytes: number): void {
    const full = this.#account.take(Math.max(0, bytes - freeBytes))
    if (full !== null) throw tooManyBodies(full)
  }

  /**
   * Keeps an answer that can be asked for again, until its client has taken it. Throws as
   * `takeBody` does.
   */
  takeAnswer(bytes: number): void {
    const full = this.#takeOfAnswer(this.#uncounted(bytes))
    if (full !== null) throw tooManyAnswers(full)
  }

  /**
   * Keeps an answer that is given in any case; it takes room from those that can be asked for
   * again.
   */
  noteAnswer(bytes: number): void {
    this.#takeOfAnswer(this.#uncounted(bytes))
  }

  /** Gives everything back; what comes later is for nobody, and finds no room. */
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
