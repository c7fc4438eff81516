/**
 * Counts bytes of the service's memory or disk by project. A limit per item is not enough, because
 * a client can send a thousand requests at once.
 */
export class ProjectRoom {
  readonly #maxBytes: number
  readonly maxBytesOfProject: number
  #bytes = 0
  readonly #byProject = new Map<string, number>()

  constructor({ maxBytes, maxBytesOfProject }: { maxBytes: number; maxBytesOfProject: number }) {
    this.#maxBytes = maxBytes
    this.maxBytesOfProject = maxBytesOfProject
  }

  /**
   * Takes bytes. Returns the limit that is reached, in which case nothing is taken, or null on
   * success.
   */
  take(projectId: string, bytes: number): 'project' | 'service' | null {
    const ofProject = (this.#byProject.get(projectId) ?? 0) + bytes
    if (ofProject > this.maxBytesOfProject) return 'project'
    if (this.#bytes + bytes > this.#maxBytes) return 'service'
    this.#bytes += bytes
    this.#byProject.set(projectId, ofProject)
    return null
  }

  /** Returns bytes to the project. */
  give(projectId: string, bytes: number): void {
    const left = (this.#byProject.get(projectId) ?? 0) - bytes
    if (left <= 0) this.#byProject.delete(projectId)
    else this.#byProject.set(projectId, left)
    this.#bytes -= bytes
  }
}

/** The share of a project's bytes that one task has taken. */
export class RoomAccount implements Disposable {
  readonly #room: ProjectRoom
  readonly #projectId: string
  #bytes = 0
  #closed = false

  constructor(room: ProjectRoom, projectId: string) {
    this.#room = room
    this.#projectId = projectId
  }

  /** The maximum number of bytes that its project may have. */
  get limit(): number {
    return this.#room.maxBytesOfProject
  }

  /** Takes more bytes. Returns the same as `ProjectRoom.take`. */
  take(bytes: number): 'project' | 'service' | null {
    if (bytes === 0) return null
    const full = this.#closed ? 'project' : this.#room.take(this.#projectId, bytes)
    if (full === null) this.#bytes += bytes
    return full
  }

  /** Returns all bytes. Later calls of `take` fail. */
  [Symbol.dispose](): void {
    this.#closed = true
    this.#room.give(this.#projectId, this.#bytes)
    this.#bytes = 0
  }
}
