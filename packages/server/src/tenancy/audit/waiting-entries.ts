import type { OpenEntry } from '../../foundation/request/audit-entry.ts'

/**
 * The maximum number of entries that wait while they cannot be written, for example on a full disk.
 * A project that floods loses only its own, because it has its own limit.
 */
export const maxWaiting = { all: 10_000, project: 2_500 } as const

/**
 * A bounded buffer of entries, with a count of the lost ones. Calls without a valid key have no
 * project and share one limit.
 */
export class WaitingEntries {
  readonly #max: { readonly all: number; readonly project: number }
  readonly #counts = new Map<string | null, number>()
  readonly #lost = new Map<string | null, number>()
  #entries = new Set<OpenEntry>()

  constructor(max: { readonly all: number; readonly project: number }) {
    this.#max = max
  }

  /** Adds an entry, once. Returns true if there is space for it. */
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

  /** Removes and returns all waiting entries. */
  take(): readonly OpenEntry[] {
    const entries = [...this.#entries]
    this.#entries = new Set()
    this.#counts.clear()
    return entries
  }

  /** Returns and resets the report of lost entries, or null if none was lost. */
  takeLost(): { readonly entries: number; readonly project_ids: readonly (string | null)[] } | null {
    if (this.#lost.size === 0) return null
    const entries = [...this.#lost.values()].reduce((sum, count) => sum + count, 0)
    const project_ids = [...this.#lost.keys()].slice(0, 20)
    this.#lost.clear()
    return { entries, project_ids }
  }
}
