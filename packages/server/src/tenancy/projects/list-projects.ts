import type { Page, Project } from '@holt/protocol'
import { decodeCursor, encodeCursor, presentRows, wrongCursor } from '../../foundation/store/page-cursor.ts'
import type { Tenancy } from '../tenancy.ts'
import { presenterOf, projectsIn } from './find-project.ts'

/**
 * Returns projects, newest first. They have no `seq`: those of the same millisecond are ordered by
 * id.
 */
export async function listProjects(
  service: Tenancy,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
): Promise<Page<Project>> {
  let list = projectsIn(service.store.db)
    .orderBy('created_at', 'desc')
    .orderBy('project_id', 'desc')
    .limit(limit + 1)
  if (cursor !== undefined) {
    const { at, projectId } = positionOf(cursor)
    list = list.where(({ eb, and, or }) =>
      or([eb('created_at', '<', at), and([eb('created_at', '=', at), eb('project_id', '<', projectId)])]),
    )
  }
  const rows = await list.execute()
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const present = await presenterOf(service, shown)
  return {
    data: presentRows(shown, { present, log: service.log, name: ({ project_id }) => ({ project_id }) }),
    next_cursor:
      rows.length > limit && last !== undefined ? encodeCursor(`${last.created_at} ${last.project_id}`) : null,
  }
}

function positionOf(cursor: string): { readonly at: number; readonly projectId: string } {
  const [, at, projectId] = /^(\d{1,15}) ([a-z0-9]{22})$/.exec(decodeCursor(cursor)) ?? []
  if (projectId === undefined) throw wrongCursor()
  return { at: Number(at), projectId }
}
