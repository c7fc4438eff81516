import { HoltError } from '@holt/protocol'
import { limitReached } from '../../foundation/errors/limit-reached.ts'
import { ProjectRoom } from './project-room.ts'

const mib = 2 ** 20

/**
 * The bytes that a project may keep: of bodies that arrive, and of requests until they are
 * answered.
 */
export const maxBytesOfProject = 64 * mib

/**
 * Counts the bytes of JSON bodies that are kept until they are complete. The limit is 128 MiB for
 * all projects, and the largest body sixteen times for one project.
 */
export class BodyRoom {
  readonly #room = new ProjectRoom({ maxBytes: 128 * mib, maxBytesOfProject })

  /**
   * Takes room for more bytes. Throws `rate_limited` if the project has used its part,
   * `unavailable` if there is no room.
   */
  take(projectId: string, bytes: number): void {
    const full = this.#room.take(projectId, bytes)
    if (full !== null) throw tooManyBodies(full)
  }

  /** Releases bytes that were taken. */
  give(projectId: string, bytes: number): void {
    this.#room.give(projectId, bytes)
  }
}

/** Returns the error for a body that finds no room. */
export function tooManyBodies(full: 'project' | 'service'): HoltError {
  return full === 'project'
    ? limitReached('rate_limited', 'The project sends too many large bodies at once.', { limit: maxBytesOfProject })
    : new HoltError('unavailable', 'The service receives too many large bodies at once.')
}
