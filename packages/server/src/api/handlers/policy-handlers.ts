import { presets } from '@holt/egress'
import { failpoint } from '@holt/failpoints'
import { HoltError, presetNames } from '@holt/protocol'
import { requireFreeName, requireRoom } from '../../foundation/rows/named-rows.ts'
import { endedStates } from '../../foundation/rows/states.ts'
import { aloneWith } from '../../foundation/store/alone.ts'
import { readPage } from '../../foundation/store/page-cursor.ts'
import type { PolicyRow } from '../../foundation/store/tables.ts'
import { type Answer, answerPage, type Call } from '../../foundation/wire/call.ts'
import { etagOf, ifMatchOf, requireMatch } from '../../foundation/wire/if-match.ts'
import { bodyText, findPolicy, presentPolicy } from '../../resources/network/find-policy.ts'
import { recordChange } from '../../tenancy/events/record-change.ts'
import type { Api, Handlers } from '../api.ts'

/** The routes of stored policies. */
export const policyHandlers = {
  createPolicy,
  listPolicies,
  getPolicy: async ({ service, caller, params }) => ({
    status: 200,
    json: presentPolicy(await findPolicy(service.store.db, caller.projectId, params.policy_id)),
  }),
  replacePolicy,
  deletePolicy,
  listPresets: async () => ({
    status: 200,
    json: { data: presetNames.map((name) => ({ name, hosts: presets[name] })) },
  }),
} satisfies Partial<Handlers>

async function createPolicy({ service, caller, body, newId }: Call<'createPolicy', Api>): Promise<Answer> {
  const { projectId } = caller
  const at = service.now()
  const policyId = newId('policy')
  const row = await service.store.change(aloneWith(projectId), async (changes) => {
    const earlier = await changes
      .selectFrom('policies')
      .selectAll()
      .where('project_id', '=', projectId)
      .where('policy_id', '=', policyId)
      .executeTakeFirst()
    // The same id is a repeated request whose answer was lost.
    if (earlier !== undefined) return earlier
    await requireRoom(changes, 'policies', projectId)
    await requireFreeName(changes, 'policies', { projectId, name: body.name, what: 'A network policy' })
    const stored = await changes
      .insertInto('policies')
      .values({
        policy_id: policyId,
        project_id: projectId,
        name: body.name,
        body_json: bodyText(body),
        revision: 1,
        created_at: at,
        updated_at: at,
      })
      .returningAll()
      .executeTakeFirstOrThrow()
    await recordChange(changes, { caller, type: 'policy.created', ...eventOf(stored), at })
    return stored
  })
  return { status: 201, json: presentPolicy(row) }
}

async function listPolicies({ service, caller, query }: Call<'listPolicies', Api>): Promise<Answer> {
  const { store, log } = service
  const rows = store.db.selectFrom('policies').selectAll().where('project_id', '=', caller.projectId)
  return answerPage(await readPage(rows, query, { present: presentPolicy, log }))
}

/**
 * Replaces a policy. When this returns, all its runtimes follow the new version, at all hosts.
 * Throws `unavailable` if a host did not apply it in time.
 */
async function replacePolicy(call: Call<'replacePolicy', Api>): Promise<Answer> {
  const { service, caller, params } = call
  const { policy_id: policyId } = await findPolicy(service.store.db, caller.projectId, params.policy_id)
  const { projectId } = caller
  let row: PolicyRow
  try {
    row = await storeReplaced(call, policyId)
    await failpoint('policy.stored')
  } finally {
    // A change that returned an error may still have been made. Runtimes follow the stored version.
    await service.networks.policyChanged(projectId, policyId)
    await failpoint('policy.synced')
  }
  await service.changesElsewhere.apply({ type: 'policy', projectId, policyId })
  return { status: 200, json: presentPolicy(row) }
}

function storeReplaced({ service, caller, body, headers }: Call<'replacePolicy', Api>, policyId: string) {
  const { projectId } = caller
  const ifMatch = ifMatchOf(headers)
  const at = service.now()
  return service.store.change(aloneWith(projectId), async (changes) => {
    const { policy_id, name, revision } = await findPolicy(changes, projectId, policyId)
    requireMatch(ifMatch, { etag: etagOf(revision), what: `The policy ${name}` })
    if (body.name !== undefined && body.name !== name)
      await requireFreeName(changes, 'policies', { projectId, name: body.name, what: 'A network policy' })
    const stored = await changes
      .updateTable('policies')
      .set({ name: body.name ?? name, body_json: bodyText(body), revision: revision + 1, updated_at: at })
      .where('project_id', '=', projectId)
      .where('policy_id', '=', policy_id)
      .returningAll()
      .executeTakeFirstOrThrow()
    await recordChange(changes, { caller, type: 'policy.replaced', ...eventOf(stored), at })
    return stored
  })
}

async function deletePolicy({ service, caller, params }: Call<'deletePolicy', Api>): Promise<Answer> {
  const { projectId } = caller
  await service.store.change(aloneWith(projectId), async (changes) => {
    const row = await findPolicy(changes, projectId, params.policy_id)
    const { policy_id, name } = row
    const users = await changes
      .selectFrom('runtime_networks')
      .innerJoin('runtimes', 'runtimes.runtime_id', 'runtime_networks.runtime_id')
      .select('runtimes.runtime_id')
      .where('runtime_networks.project_id', '=', projectId)
      .where('runtime_networks.policy_id', '=', policy_id)
      .where('runtimes.state', 'not in', endedStates)
      .limit(100)
      .execute()
    if (users.length > 0) {
      throw new HoltError('in_use', `Runtimes have the network policy ${name}.`, {
        hint: 'First give these runtimes another policy, or delete them: details.runtime_ids.',
        details: { runtime_ids: users.map(({ runtime_id }) => runtime_id) },
      })
    }
    await changes
      .deleteFrom('policies')
      .where('project_id', '=', projectId)
      .where('policy_id', '=', policy_id)
      .execute()
    await recordChange(changes, { caller, type: 'policy.deleted', ...eventOf(row), at: service.now() })
  })
  return { status: 204 }
}

/** Returns the part of a policy that its events have. */
function eventOf({ policy_id: subjectId, revision }: PolicyRow) {
  return { subjectId, data: { revision } }
}
