import type { OpenEntry } from './audit-entry.ts'

/**
 * The most entries that wait while they cannot be written, on a full disk say: of all, and of one
 * project, so that one that floods loses its own.
 */
export const maxWaiting = { all: 10_000, project: 2_500 } as const

/**
 * Entries that are to be written, and how many found no room. Calls without a valid key are of no
 * project, and bounded as one.
 */
export class WaitingEntries {
  readonly #max: { readonly all: number; readonly project: number }
  readonly #counts = new Map<string | null, number>()
  readonly #lost = new Map<string | null, number>()
  #entries = new Set<OpenEntry>()

  constructor(max: { readonly all: number; readonly project: number }) {
    this.#max = max
  }

  /** Has an entry wait, once. Answers whether it has room. */
  add(entry: OpenEntry): boolean {
    if (this.#entries.has(entry)) return true
    const { projectId } = entry
    const count = this.#counts.get(projectId) ?? 0
    if (this.#entries.size >= this.#max.all || count >= this.#max.project) {
      this.#lost.set(projectId, (this.#lost.get(projectId) ?? 0) + 1)
      return false
    }
    this.#entries.add(entry)
    this.#counts.set(projectId, count + 1)
    return true
  }

  /** Takes all that waits. */
  take(): readonly OpenEntry[] {
    const entries = [...this.#entries]
    this.#entries = new Set()
    this.#counts.clear()
    return entries
  }

  /** Takes what is to be said of entries that found no room; null where all did. */
  takeLost(): { readonly entries: number; readonly project_ids: readonly (string | null)[] } | null {
    if (this.#lost.size === 0) return null
    const entries = [...this.#lost.values()].reduce((sum, count) => sum + count, 0)
    const project_ids = [...this.#lost.keys()].slice(0, 20)
    this.#lost.clear()
    return { entries, project_ids }
  }
}
