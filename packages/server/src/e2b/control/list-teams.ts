import type { E2bAnswer } from '../answers/write-answer.ts'
import type { ControlCall } from './control-call.ts'

/** Returns the project of the key, which is the one team that the key is for. */
export async function listTeams({
  service: { store },
  caller: { projectId },
}: ControlCall<unknown, unknown>): Promise<E2bAnswer> {
  const { name } = await store.db
    .selectFrom('projects')
    .select('name')
    .where('project_id', '=', projectId)
    .executeTakeFirstOrThrow()
  return { status: 200, json: [{ teamID: projectId, name, apiKey: 'hidden', isDefault: true }] }
}
