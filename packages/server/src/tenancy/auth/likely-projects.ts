import { Groups } from '../limits/connection-groups.ts'
import { sentDigest } from './key-secret.ts'

/**
 * The maximum number of remembered keys, far more than are in use at once. With their projects they
 * take about a MiB.
 */
const maxKeys = 4096

/**
 * The last known project of each key, and of each session of the console. It selects the fair
 * queue of a request without access to the store. It grants nothing: every request is still
 * authenticated. Only valid keys are added, and keys that become invalid are removed. If there are
 * too many, the project with the most keys loses its least recently used one. A client with
 * thousands of keys thus displaces no other project's keys. The lookup is by digest, so its timing
 * does not reveal how close a guess is.
 */
export class LikelyProjects {
  readonly #projects = new Map<string, string>()
  /** The digests of each project, the least recently used first. */
  readonly #digests = new Groups<string>()

  /**
   * Returns the project of the key in an `Authorization` header. Returns null if there is no key,
   * or if the key is unknown.
   */
  of(header: string | undefined): string | null {
    const digest = sentDigest(header)
    return digest === null ? null : (this.#projects.get(digest) ?? null)
  }

  /** Returns the project of a session of the console by its digest. Null if it is unknown. */
  ofSession(digest: string): string | null {
    return this.#projects.get(digest) ?? null
  }

  /** Notes that a key or a session was valid. */
  note(digest: string, projectId: string): void {
    this.forget(digest)
    this.#projects.set(digest, projectId)
    this.#digests.add(projectId, digest)
    if (this.#projects.size <= maxKeys) return
    const [oldest = digest] = this.#digests.largest
    this.forget(oldest)
  }

  /** Removes secrets and sessions that are no longer valid. */
  forget(...digests: readonly (string | null)[]): void {
    for (const digest of digests) {
      const projectId = digest === null ? undefined : this.#projects.get(digest)
      if (digest === null || projectId === undefined) continue
      this.#projects.delete(digest)
      this.#digests.delete(projectId, digest)
    }
  }
}
