import type { RuntimeState } from '@holt/protocol'
import { decodeCursor, encodeCursor, wrongCursor } from '../../foundation/store/page-cursor.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import type { Runtimes } from '../runtimes.ts'
import { hasMetadata } from './has-metadata.ts'

/** A filter for runtimes that have not ended, and the page of them. */
export interface LiveList {
  readonly states: readonly RuntimeState[]
  readonly metadata: Readonly<Record<string, string>>
  /** The least start, in milliseconds since 1970 UTC. Absent: any. */
  readonly startedFrom?: number | undefined
  /** The name or the id of their template. Absent: any. */
  readonly template?: string | undefined
  readonly order: 'asc' | 'desc'
  readonly limit: number
  readonly cursor?: string | undefined
}

/** Returns a page of a project's runtimes that have not ended, in the order of their creation. */
export async function listLive(
  { store }: Pick<Runtimes, 'store'>,
  projectId: string,
  { states, metadata, startedFrom, template, order, limit, cursor }: LiveList,
): Promise<{ readonly rows: readonly RuntimeRow[]; readonly nextCursor: string | null }> {
  let wanted = store.db
    .selectFrom('runtimes')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('ended_at', 'is', null)
    .where('state', 'in', states)
  if (startedFrom !== undefined) wanted = wanted.where('started_at', '>=', startedFrom)
  if (template !== undefined)
    wanted = wanted.where(({ eb, or }) => or([eb('template_name', '=', template), eb('template_id', '=', template)]))
  for (const [key, value] of Object.entries(metadata)) wanted = wanted.where(hasMetadata(store, key, value))
  if (cursor !== undefined) wanted = wanted.where('seq', order === 'asc' ? '>' : '<', seqOf(cursor))
  const rows = await wanted
    .orderBy('seq', order)
    .limit(limit + 1)
    .execute()
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  return { rows: shown, nextCursor: rows.length > limit && last !== undefined ? encodeCursor(last.seq) : null }
}

function seqOf(cursor: string): number {
  const position = decodeCursor(cursor)
  if (!/^\d{1,15}$/.test(position)) throw wrongCursor()
  return Number(position)
}
