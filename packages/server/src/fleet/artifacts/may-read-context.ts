import type { HostTrust } from '../../foundation/host/host-trust.ts'
import type { Queries } from '../../foundation/store/open-store.ts'

/** The host that asks for a context. */
interface Asker {
  readonly hostId: string
  readonly trust: HostTrust
}

/** The parts of the decision about contexts. */
interface ContextReaders {
  readonly db: Queries
  /** Returns true if a worker serves a project. */
  readonly serves: (hostId: string, projectId: string) => Promise<boolean>
}

/**
 * Returns true if a host may read the context of a build. A worker may do that if it runs a build
 * with the context, or if a front has sent it a request of the project.
 */
export async function mayReadContext(
  { db, serves }: ContextReaders,
  contextId: string,
  { hostId, trust }: Asker,
): Promise<boolean> {
  if (trust === 'entry') return true
  const context = await db
    .selectFrom('build_contexts')
    .select('project_id')
    .where('context_id', '=', contextId)
    .executeTakeFirst()
  if (context === undefined) return false
  const { project_id: projectId } = context
  const build = await db
    .selectFrom('builds')
    .select('build_id')
    .where('project_id', '=', projectId)
    .where('context_id', '=', contextId)
    .where('host_id', '=', hostId)
    .where('ended_at', 'is', null)
    .executeTakeFirst()
  return build !== undefined || serves(hostId, projectId)
}
