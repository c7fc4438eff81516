import { type AuditEntry, keptAudit } from '@holt/protocol'
import { aloneWithRow } from '../../foundation/store/alone.ts'
import type { Queries } from '../../foundation/store/open-store.ts'
import { dayMs } from '../../foundation/time/day.ts'
import type { Tenancy } from '../tenancy.ts'

/** The rows that are removed and counted at once, so that nobody waits for long. */
const stepRows = 2000
const countedRows = 20_000

/** The entries of a project and kind above the limit. */
interface Surplus {
  readonly projectId: string | null
  readonly kind: AuditEntry['kind']
  rows: number
}

/** Removes audit entries that are too old, and those of each project and kind above the limit. */
export class OldAudit {
  readonly #service: Pick<Tenancy, 'store' | 'now'>
  readonly #kept: typeof keptAudit
  readonly #countedRows: number
  /** A count in progress: its bounds and the result so far. */
  #count: { until: number; from: number; readonly found: Surplus[] } | null = null
  /**
   * The entries to remove. Null if they have to be counted. A count reads the whole log, so its
   * result is used until all are removed.
   */
  #surplus: readonly Surplus[] | null = null

  constructor(service: Pick<Tenancy, 'store' | 'now'>, kept: typeof keptAudit = keptAudit, counted = countedRows) {
    this.#service = service
    this.#kept = kept
    this.#countedRows = counted
  }

  /** Removes some entries. Returns true if there may be more. */
  async removeSome(): Promise<boolean> {
    // Counted entries are removed by number. Until then none of them may be removed as too old.
    if (this.#count === null && this.#surplus === null && (await this.#removeOld())) return true
    if (this.#surplus === null && !(await this.#countSome())) return true
    return this.#removeSurplus()
  }

  async #removeOld(): Promise<boolean> {
    const { store, now } = this.#service
    const old = await store.db
      .selectFrom('audit')
      .select('seq')
      .where('at', '<', now() - this.#kept.days * dayMs)
      .orderBy('at')
      .limit(stepRows)
      .execute()
    if (old.length > 0) await this.#remove(old)
    return old.length > 0
  }

  async #removeSurplus(): Promise<boolean> {
    for (const surplus of this.#surplus ?? []) await this.#removeFirst(surplus)
    const left = (this.#surplus ?? []).filter(({ rows }) => rows > 0)
    this.#surplus = left.length > 0 ? left : null
    return left.length > 0
  }

  /**
   * Counts a part of the log. Returns true if the count has reached the end that the log had at its
   * start.
   */
  async #countSome(): Promise<boolean> {
    const { db } = this.#service.store
    this.#count ??= { until: await lastSeq(db), from: 0, found: [] }
    const { until, from, found } = this.#count
    const some = db
      .selectFrom('audit')
      .select(['seq', 'project_id', 'kind'])
      .where('seq', '>', from)
      .where('seq', '<=', until)
      .orderBy('seq')
      .limit(this.#countedRows)
    const spans = await db
      .selectFrom(some.as('some'))
      .select(({ fn }) => ['project_id', 'kind', fn.countAll().as('rows'), fn.max('seq').as('last')] as const)
      .groupBy(['project_id', 'kind'])
      .execute()
    for (const { project_id: projectId, kind, rows } of spans) {
      const known = found.find((each) => each.projectId === projectId && each.kind === kind)
      if (known === undefined) found.push({ projectId, kind, rows: Number(rows) - this.#kept[kind] })
      else known.rows += Number(rows)
    }
    this.#count.from = spans.reduce((last, span) => Math.max(last, Number(span.last)), from)
    if (spans.length > 0 && this.#count.from < until) return false
    this.#count = null
    this.#surplus = found.filter(({ rows }) => rows > 0)
    return true
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
    await this.#service.store.change(aloneWithRow, remove, { durable: 'later' })
  }
}

async function lastSeq(db: Queries): Promise<number> {
  const row = await db
    .selectFrom('audit')
    .select(({ fn }) => fn.max('seq').as('last'))
    .executeTakeFirst()
  return Number(row?.last ?? 0)
}
