import type { Changes, Store } from '../../foundation/store/open-store.ts'

const mib = 2 ** 20

/** The most bytes of a project's kept answers, as stored. Some hundred thousand usual ones fit. */
export const maxKeptBytesOfProject = 256 * mib

/**
 * An upper bound of the kept answers' bytes by project: expired answers are not subtracted. It is
 * read from the table once for each project, and again at the limit.
 */
const keptOf = new WeakMap<Store, Map<string, number>>()

/**
 * Counts a kept answer, in the change that keeps it. Removes the project's oldest answers if all of
 * them exceed `maxBytes`.
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

/** Resets the count of a project, if the change that counted may have been rolled back. */
export function recountKept(store: Store, projectId: string): void {
  keptOf.get(store)?.delete(projectId)
}

/**
 * Removes the oldest answers until an eighth of the limit is free, so that not every answer has to
 * make room. The records stay.
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
