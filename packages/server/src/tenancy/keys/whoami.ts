import type { Identity } from '@holt/protocol'
import type { Caller } from '../../foundation/request/caller.ts'
import { quotasOf } from '../../foundation/rows/stored-quotas.ts'
import { quotaUse } from '../projects/quota-use.ts'
import type { Tenancy } from '../tenancy.ts'
import { presentKey } from './present-key.ts'

/** Returns a caller's key and project, with its quotas and its use of them. */
export async function whoami({ store: { db }, projects, now }: Tenancy, caller: Caller): Promise<Identity> {
  const { projectId, keyId } = caller
  const key = await db
    .selectFrom('keys')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('key_id', '=', keyId)
    .executeTakeFirstOrThrow()
  const project = await db
    .selectFrom('projects')
    .selectAll()
    .where('project_id', '=', projectId)
    .executeTakeFirstOrThrow()
  return {
    key: presentKey(key, now()),
    project: { project_id: projectId as Identity['project']['project_id'], name: project.name },
    quotas: quotasOf(project, projects.defaults),
    use: (await quotaUse(db, [projectId]))(projectId),
  }
}
