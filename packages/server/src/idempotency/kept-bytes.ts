import type { Changes, Store } from '../store/open-store.ts'

const mib = 2 ** 20

/** The longest answer that is kept, as JSON. */
export const maxKeptAnswerBytes = mib

/**
 * What the answers of a project may take together, as they are stored: some hundred thousand of the
 * usual ones.
 */
export const maxKeptBytesOfProject = 256 * mib

/**
 * What is known of the answers that are kept: at least as much as there is, since nobody counts
 * what grows old. It is read from the table once for each project, and again at the bound.
 */
const keptOf = new WeakMap<Store, Map<string, number>>()

/**
 * Notes that an answer of so many bytes is kept, in the change that keeps it. Where a project's
 * answers are more than `maxBytes` then, its oldest are let go of.
 */
export async function countKept(
  store: Store,
  changes: Changes,
  { projectId, bytes, maxBytes }: { projectId: string; bytes: number; maxBytes: number },
): Promise<void> {
  const kept = keptOf.get(store) ?? new Map<string, number>()
  keptOf.set(store, kept)
  const before = kept.get(projectId)
  let total = before === undefined ? await keptBytes(changes, projectId) : before + bytes
  if (total > maxBytes) total = await makeRoom(changes, projectId, maxBytes)
  kept.set(projectId, total)
}

/**
 * Forgets what was counted for a project, where the change that counted it may have been undone.
 */
export function recountKept(store: Store, projectId: string): void {
  keptOf.get(store)?.delete(projectId)
}

/**
 * Lets go of the oldest answers until an eighth is free, so that not each answer has to look for
 * room. That a request was answered stays known.
 */
async function makeRoom(changes: Changes, projectId: string, maxBytes: number): Promise<number> {
  const total = await keptBytes(changes, projectId)
  if (total <= maxBytes) return total
  const newest = await changes
    .selectFrom(({ selectFrom }) =>
      selectFrom('idempotency')
        .select(({ fn, ref }) => [
          'created_at',
          fn
            .sum<number>(fn('octet_length', [ref('body')]))
            .over((over) => over.orderBy('created_at', 'desc'))
            .as('bytes'),
        ])
        .where('project_id', '=', projectId)
        .where('body', 'is not', null)
        .as('answers'),
    )
    .select('created_at')
    .where('bytes', '>', maxBytes - Math.floor(maxBytes / 8))
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirstOrThrow()
  await changes
    .updateTable('idempotency')
    .set({ body: null })
    .where('project_id', '=', projectId)
    .where('body', 'is not', null)
    .where('created_at', '<=', newest.created_at)
    .execute()
  return keptBytes(changes, projectId)
}

async function keptBytes(changes: Changes, projectId: string): Promise<number> {
  const { bytes } = await changes
    .selectFrom('idempotency')
    .select(({ fn, ref }) => fn.sum<number | string | null>(fn('octet_length', [ref('body')])).as('bytes'))
    .where('project_id', '=', projectId)
    .where('body', 'is not', null)
    .executeTakeFirstOrThrow()
  return Number(bytes ?? 0) // PostgreSQL writes a sum as text.
}
