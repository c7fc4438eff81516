import type { Changes } from '../../foundation/store/open-store.ts'
import type { RecordState } from './record-state.ts'

const mib = 2 ** 20

/**
 * The maximum number of bytes of a project's kept answers, as stored. Some hundred thousand usual
 * ones fit.
 */
export const maxKeptBytesOfProject = 256 * mib

/**
 * Counts a kept answer, in the change that keeps it. Removes the project's oldest answers if all of
 * them exceed `maxBytes`.
 */
export async function countKept(
  { keptBytes: kept }: RecordState,
  changes: Changes,
  { projectId, bytes, maxBytes }: { projectId: string; bytes: number; maxBytes: number },
): Promise<void> {
  const before = kept.get(projectId)
  let total = before === undefined ? await readKeptBytes(changes, projectId) : before + bytes
  if (total > maxBytes) total = await makeRoom(changes, projectId, maxBytes)
  kept.set(projectId, total)
}

/** Resets the count of a project, if the change that counted may have been rolled back. */
export function recountKept(state: RecordState, projectId: string): void {
  state.keptBytes.delete(projectId)
}

/**
 * Removes the oldest answers until an eighth of the limit is free, so that not every answer has to
 * make room. The records stay.
 */
async function makeRoom(changes: Changes, projectId: string, maxBytes: number): Promise<number> {
  const total = await readKeptBytes(changes, projectId)
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
  return readKeptBytes(changes, projectId)
}

async function readKeptBytes(changes: Changes, projectId: string): Promise<number> {
  const { bytes } = await changes
    .selectFrom('idempotency')
    .select(({ fn, ref }) => fn.sum<number | string | null>(fn('octet_length', [ref('body')])).as('bytes'))
    .where('project_id', '=', projectId)
    .where('body', 'is not', null)
    .executeTakeFirstOrThrow()
  return Number(bytes ?? 0) // PostgreSQL writes a sum as text.
}
