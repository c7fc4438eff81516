import type { Quotas } from '@holt/protocol'
import type { Log } from '../../foundation/log.ts'
import { noQuotas, storedQuotas } from '../../foundation/rows/stored-quotas.ts'
import { systemProjectId } from '../../foundation/rows/system-project.ts'
import type { Store } from '../../foundation/store/open-store.ts'

/**
 * A cache of the quotas of projects, because each request is checked against one. A change of this
 * process updates it, and a change of another host of the fleet removes them from it.
 */
export class ProjectQuotas {
  /** The quotas of a project without its own. */
  readonly defaults: Quotas
  readonly #store: Store
  readonly #log: Log
  readonly #known = new Map([[systemProjectId, noQuotas]])
  #refreshes = 0

  constructor({ store, log }: { readonly store: Store; readonly log: Log }, defaults: Quotas) {
    this.#store = store
    this.#log = log
    this.defaults = defaults
  }

  /**
   * Returns a project's quotas, or the defaults if its row is damaged. A damaged row does not block
   * reads or its repair. `requireQuotas` refuses the limited actions.
   */
  async of(projectId: string): Promise<Quotas> {
    const known = this.#known.get(projectId)
    if (known !== undefined) return known
    const refreshes = this.#refreshes
    const row = await this.#store.db
      .selectFrom('projects')
      .select('quotas_json')
      .where('project_id', '=', projectId)
      .executeTakeFirst()
    const changed = this.#known.get(projectId)
    // A value that was set meanwhile is newer than the read one.
    if (changed !== undefined) return changed
    const stored = row === undefined ? {} : storedQuotas(row)
    if (stored === null)
      this.#log.error({ project_id: projectId }, 'the quotas of a project are damaged: set them again')
    const quotas = { ...this.defaults, ...stored }
    // A row that was read before another host changed it is used once.
    if (refreshes === this.#refreshes) this.#known.set(projectId, quotas)
    return quotas
  }

  /** Returns the cached quotas of a project, or the defaults. */
  known(projectId: string): Quotas {
    return this.#known.get(projectId) ?? this.defaults
  }

  /** Sets the cached quotas of a project. */
  set(projectId: string, quotas: Quotas): void {
    this.#known.set(projectId, quotas)
  }

  /** Reads the cached quotas of a project again, because another host has changed them. */
  async refresh(projectId: string): Promise<void> {
    this.#refreshes += 1
    if (projectId === systemProjectId || !this.#known.delete(projectId)) return
    await this.of(projectId)
  }
}
