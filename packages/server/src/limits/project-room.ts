/**
 * Counts bytes of the service's memory or disk on the accounts of projects: a bound of each piece
 * alone is none where a client asks a thousand times at once.
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
   * Takes room for more bytes. Answers whose room is full, in which case nothing is taken; null
   * where there was room.
   */
  take(projectId: string, bytes: number): 'project' | 'service' | null {
    const ofProject = (this.#byProject.get(projectId) ?? 0) + bytes
    if (ofProject > this.maxBytesOfProject) return 'project'
    if (this.#bytes + bytes > this.#maxBytes) return 'service'
    this.#bytes += bytes
    this.#byProject.set(projectId, ofProject)
    return null
  }

  /** Gives back what was taken. */
  give(projectId: string, bytes: number): void {
    const left = (this.#byProject.get(projectId) ?? 0) - bytes
    if (left <= 0) this.#byProject.delete(projectId)
    else this.#byProject.set(projectId, left)
    this.#bytes -= bytes
  }
}

/** What one piece of work has of the room of its project. */
export class RoomAccount implements Disposable {
  readonly #room: ProjectRoom
  readonly #projectId: string
  #bytes = 0
  #closed = false

  constructor(room: ProjectRoom, projectId: string) {
    this.#room = room
    this.#projectId = projectId
  }

  /** The most bytes that its project may have. */
  get limit(): number {
    return this.#room.maxBytesOfProject
  }

  /** Takes more bytes. Answers as `ProjectRoom.take` does. */
  take(bytes: number): 'project' | 'service' | null {
    if (bytes === 0) return null
    const full = this.#closed ? 'project' : this.#room.take(this.#projectId, bytes)
    if (full === null) this.#bytes += bytes
    return full
  }

  /** Gives everything back; what comes later finds no room. */
  [Symbol.dispose](): void {
    this.#closed = true
    this.#room.give(this.#projectId, this.#bytes)
    this.#bytes = 0
  }
}
