import type { Quotas } from '@holt/protocol'
import type { Log } from '../service.ts'
import type { Store } from '../store/open-store.ts'
import { noQuotas, storedQuotas } from './stored-quotas.ts'
import { systemProjectId } from './system-project.ts'

/**
 * The quotas of the projects that ask for something, at hand: each request is held against one.
 * This process alone changes them, and says so here.
 */
export class ProjectQuotas {
  /** What holds for a project of which nothing else is said. */
  readonly defaults: Quotas
  readonly #store: Store
  readonly #log: Log
  readonly #known = new Map([[systemProjectId, noQuotas]])

  constructor({ store, log }: { readonly store: Store; readonly log: Log }, defaults: Quotas) {
    this.#store = store
    this.#log = log
    this.defaults = defaults
  }

  /**
   * A project's quotas; the settings' where its row is damaged, which holds back nobody who only
   * looks, or mends it. What they bound is refused by `requireQuotas`.
   */
  async of(projectId: string): Promise<Quotas> {
    const known = this.#known.get(projectId)
    if (known !== undefined) return known
    const row = await this.#store.db
      .selectFrom('projects')
      .select('quotas_json')
      .where('project_id', '=', projectId)
      .executeTakeFirst()
    const changed = this.#known.get(projectId)
    if (changed !== undefined) return changed // What was said meanwhile is newer than what was read.
    const stored = row === undefined ? {} : storedQuotas(row)
    if (stored === null)
      this.#log.error({ project_id: projectId }, 'the quotas of a project are damaged: set them anew')
    const quotas = { ...this.defaults, ...stored }
    this.#known.set(projectId, quotas)
    return quotas
  }

  /** As `of`, of what is at hand; the settings' where nothing is. */
  known(projectId: string): Quotas {
    return this.#known.get(projectId) ?? this.defaults
  }

  /** Says what a project's quotas are from now on. */
  set(projectId: string, quotas: Quotas): void {
    this.#known.set(projectId, quotas)
  }
}
