import { Groups } from '../http/connection-groups.ts'
import { sentDigest } from './key-secret.ts'

/** Far more keys than are in use at once. With their projects they take about a MiB. */
const maxKeys = 4096

/**
 * Of which project each key was when it was looked at last. That tells at once, without the store,
 * among whose requests one waits; it opens nothing, for every request is authenticated as if nobody
 * knew its key. Only keys that were right get in, and those that turn out to be wrong get out.
 * Where there are too many the project goes short that has most, so whoever makes keys by the
 * thousand pushes out nobody else's. They are looked up by digest, so that the time which that
 * takes tells nothing of how near a guess was.
 */
export class LikelyProjects {
  readonly #projects = new Map<string, string>()
  /** The digests of each project, the one that was used longest ago first. */
  readonly #digests = new Groups<string>()

  /**
   * The project of the key in an `Authorization` header; null where there is no key, or nobody
   * knows it.
   */
  of(header: string | undefined): string | null {
    const digest = sentDigest(header)
    return digest === null ? null : (this.#projects.get(digest) ?? null)
  }

  /** Notes that a key was right. */
  note(digest: string, projectId: string): void {
    this.forget(digest)
    this.#projects.set(digest, projectId)
    this.#digests.add(projectId, digest)
    if (this.#projects.size <= maxKeys) return
    const [oldest = digest] = this.#digests.largest
    this.forget(oldest)
  }

  /** Forgets secrets that are wrong from now on. */
  forget(...digests: readonly (string | null)[]): void {
    for (const digest of digests) {
      const projectId = digest === null ? undefined : this.#projects.get(digest)
      if (digest === null || projectId === undefined) continue
      this.#projects.delete(digest)
      this.#digests.delete(projectId, digest)
    }
  }
}
