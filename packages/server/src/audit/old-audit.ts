import { type AuditEntry, keptAudit } from '@holt/protocol'
import type { Service } from '../service.ts'
import type { Queries } from '../store/open-store.ts'

const dayMs = 24 * 3600 * 1000

/** How many rows are removed at once, so that nobody waits for long. */
const stepRows = 2000

/** Entries of a project and kind on top of what is kept. */
interface Surplus {
  readonly projectId: string | null
  readonly kind: AuditEntry['kind']
  rows: number
}

/** Removes audit entries that are too old, and of each project and kind those on top of what is kept. */
export class OldAudit {
  readonly #service: Pick<Service, 'store' | 'now'>
  readonly #kept: typeof keptAudit
  /** Null: to be counted. A count looks at the whole log while nothing else runs, so one serves until all of it is removed. */
  #surplus: readonly Surplus[] | null = null

  constructor(service: Pick<Service, 'store' | 'now'>, kept: typeof keptAudit = keptAudit) {
    this.#service = service
    this.#kept = kept
  }

  /** Removes some of them. Answers whether there may be more. */
  async removeSome(): Promise<boolean> {
    const { store, now } = this.#service
    const old = await store.db
      .selectFrom('audit')
      .select('seq')
      .where('at', '<', now() - this.#kept.days * dayMs)
      .orderBy('at')
      .limit(stepRows)
      .execute()
    if (old.length > 0) {
      await this.#remove(old)
      return true
    }
    this.#surplus ??= await this.#count()
    for (const surplus of this.#surplus) await this.#removeFirst(surplus)
    const left = this.#surplus.filter(({ rows }) => rows > 0)
    this.#surplus = left.length > 0 ? left : null
    return left.length > 0
  }

  async #count(): Promise<Surplus[]> {
    const spans = await this.#service.store.db
      .selectFrom('audit')
      .select(({ fn }) => ['project_id', 'kind', fn.countAll().as('rows')] as const)
      .groupBy(['project_id', 'kind'])
      .execute()
    return spans
      .map(({ project_id, kind, rows }) => ({ projectId: project_id, kind, rows: Number(rows) - this.#kept[kind] }))
      .filter(({ rows }) => rows > 0)
  }

  async #removeFirst(surplus: Surplus): Promise<void> {
    const { projectId, kind, rows } = surplus
    const found = await this.#service.store.db
      .selectFrom('audit')
      .select('seq')
      .where('project_id', projectId === null ? 'is' : '=', projectId)
      .where('kind', '=', kind)
      .orderBy('seq')
      .limit(Math.min(rows, stepRows))
      .execute()
    if (found.length > 0) await this.#remove(found)
    surplus.rows = found.length === 0 ? 0 : rows - found.length
  }

  async #remove(rows: readonly { readonly seq: number }[]): Promise<void> {
    const remove = async (changes: Queries) => {
      for (const { seq } of rows) await changes.deleteFrom('audit').where('seq', '=', seq).execute()
    }
    await this.#service.store.change(remove, { durable: 'later' })
  }
}
