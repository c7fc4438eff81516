import type { ServerResponse } from 'node:http'
import { HoltError } from '@holt/protocol'
import { ProjectRoom, RoomAccount } from '../limits/project-room.ts'
import { tooManyBodies } from './body-room.ts'

const mib = 2 ** 20

/** What a piece may have that is not counted. So a command with little to say is whole, and a small request is taken, however much others keep. */
export const freeBytes = 16 * 1024

/**
 * What requests under way keep in memory until their answers have left: their bodies, the output of commands that they wait for, and what they have looked up. Written as JSON, output may take six times
 * that.
 */
export class KeptMemory {
  readonly #room = new ProjectRoom({ maxBytes: 256 * mib, maxBytesOfProject: 64 * mib })

  /** Opens the account of one request; all of it is given back when its answer has ended or its client is gone. */
  open(projectId: string, response: ServerResponse): KeptByRequest {
    const account = new KeptByRequest(this.#room, projectId)
    if (response.destroyed) account.close()
    else response.once('close', () => account.close())
    return account
  }
}

/** What one request keeps. */
export class KeptByRequest {
  readonly #account: RoomAccount

  constructor(room: ProjectRoom, projectId: string) {
    this.#account = new RoomAccount(room, projectId)
  }

  /** Keeps more bytes. False where there is no room for them: then they are not to be kept. */
  take(bytes: number): boolean {
    return this.#account.take(bytes) === null
  }

  /** Keeps a body. Throws `rate_limited` where the project has its part, `unavailable` where there is no room. */
  takeBody(bytes: number): void {
    const full = this.#account.take(Math.max(0, bytes - freeBytes))
    if (full !== null) throw tooManyBodies(full)
  }

  /** Keeps the answer to what only looks something up, until its client has taken it. Throws as `takeBody` does. */
  takeAnswer(bytes: number): void {
    const full = this.#account.take(Math.max(0, bytes - freeBytes))
    if (full !== null) throw tooManyAnswers(full)
  }

  /** Gives everything back; what comes later is for nobody, and finds no room. */
  close(): void {
    this.#account[Symbol.dispose]()
  }
}

function tooManyAnswers(full: 'project' | 'service'): HoltError {
  return full === 'project'
    ? new HoltError('rate_limited', 'The clients of the project are slow to take too many large answers at once.', {
        details: { retry_after_secs: 1 },
      })
    : new HoltError('unavailable', 'Clients are slow to take too many large answers at once.')
}
