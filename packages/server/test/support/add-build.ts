import { makeId } from '@holt/protocol'
import type { Store } from '../../src/foundation/store/open-store.ts'

/** The facts of a build that a test writes. */
interface TestBuild {
  readonly endedAt: number | null
  readonly projectId?: string
  readonly logBytes?: number
}

/** Writes the row of a build with one line of its log, and returns its id. */
export async function addBuild(store: Store, { endedAt, projectId = 'p', logBytes = 0 }: TestBuild): Promise<string> {
  const build_id = makeId('build')
  const text = { warnings_json: '[]', ignored_json: '[]', steps_json: '[]' }
  await store.db
    .insertInto('builds')
    .values({
      build_id,
      project_id: projectId,
      template_id: 't',
      name: 'n',
      tag: 'latest',
      status: endedAt === null ? 'building' : 'ready',
      ...text,
      log_cursor: 1,
      log_bytes: logBytes,
      created_at: 1,
      started_at: 1,
      ended_at: endedAt,
    })
    .execute()
  await store.db.insertInto('build_logs').values({ build_id, cursor: 1, line_json: '{}' }).execute()
  return build_id
}
