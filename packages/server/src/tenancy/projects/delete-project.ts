import { HoltError } from '@holt/protocol'
import { notEnded } from '../../foundation/rows/not-ended.ts'
import { defaultProject } from '../../foundation/rows/system-project.ts'
import { aloneWithService } from '../../foundation/store/alone.ts'
import type { Queries } from '../../foundation/store/open-store.ts'
import { recordEvent } from '../events/record-event.ts'
import type { Tenancy } from '../tenancy.ts'
import { findProject } from './find-project.ts'

/**
 * Deletes an empty project, with its keys and build caches. Its row stays without the name, because
 * events refer to it.
 */
export async function deleteProject(
  service: Tenancy,
  { reference, by }: { reference: string; by: string },
): Promise<void> {
  const { store, now, collector, recentKeys, likelyProjects, streams } = service
  const at = now()
  const revoked = await store.change(aloneWithService, async (changes) => {
    const { project_id: projectId, name } = await findProject(changes, reference)
    if (name === defaultProject) throw staysDefault(`The project ${defaultProject} cannot be deleted.`)
    // From here on nothing of it is made.
    await changes.enterProject(projectId)
    await requireEmpty(changes, projectId, name)
    await forgetKept(changes, projectId)
    await changes
      .updateTable('projects')
      .set({ name: projectId, deleted_at: at, updated_at: at })
      .where('project_id', '=', projectId)
      .execute()
    const keys = await changes
      .updateTable('keys')
      .set({ revoked_at: at })
      .where('project_id', '=', projectId)
      .where('revoked_at', 'is', null)
      .returning(['key_id', 'digest', 'previous_digest'])
      .execute()
    await recordEvent(changes, {
      projectId,
      type: 'project.deleted',
      subjectId: projectId,
      data: { by, name },
      at,
    })
    return keys
  })
  recentKeys.clear()
  for (const { key_id, digest, previous_digest } of revoked) {
    likelyProjects.forget(digest, previous_digest)
    streams.cutKey(key_id)
  }
  await service.changesElsewhere.apply({
    type: 'keys',
    keyIds: revoked.map(({ key_id }) => key_id),
    endsTokens: false,
  })
  collector.request()
}

/** Returns the error for a change of the default project, which the service knows by its name. */
export function staysDefault(message: string): HoltError {
  return new HoltError('conflict', message, {
    hint: 'Use another project that can be renamed or deleted: POST /v1/agents/project makes one.',
  })
}

/** Returns the kinds of things that prevent a deletion, with the number of each. */
async function whatIsLeft(db: Queries, projectId: string): Promise<Readonly<Record<string, number>>> {
  const count = async (query: { execute(): Promise<unknown[]> }) => (await query.execute()).length
  const of = (table: 'snapshots' | 'templates' | 'policies' | 'providers' | 'webhooks') =>
    count(db.selectFrom(table).select('project_id').where('project_id', '=', projectId))
  const runtimes = db.selectFrom('runtimes').select('seq').where('project_id', '=', projectId).where(notEnded)
  const builds = db.selectFrom('builds').select('seq').where('project_id', '=', projectId).where('ended_at', 'is', null)
  const secrets = db
    .selectFrom('secrets')
    .select('seq')
    .where('project_id', '=', projectId)
    .where('deleted_at', 'is', null)
  const counts = {
    runtimes: await count(runtimes),
    builds: await count(builds),
    snapshots: await of('snapshots'),
    templates: await of('templates'),
    secrets: await count(secrets),
    identity_providers: await of('providers'),
    network_policies: await of('policies'),
    webhooks: await of('webhooks'),
  }
  return Object.fromEntries(Object.entries(counts).filter(([, number]) => number > 0))
}

async function requireEmpty(db: Queries, projectId: string, name: string): Promise<void> {
  const left = await whatIsLeft(db, projectId)
  const kinds = Object.entries(left).map(([kind, number]) => `${kind.replaceAll('_', ' ')} (${number})`)
  if (kinds.length === 0) return
  throw new HoltError('in_use', `The project ${name} still has ${kinds.join(', ')}.`, {
    hint: `Delete them with a key of the project first: POST /v1/agents/key with the project ${name} and the scope admin makes one.`,
    details: { left },
  })
}

/**
 * Removes the project's records and caches. A row with a file is marked as unused for longest, so
 * that the collector removes it.
 */
async function forgetKept(changes: Queries, projectId: string): Promise<void> {
  for (const table of ['build_cache', 'pulled_images', 'idempotency'] as const)
    await changes.deleteFrom(table).where('project_id', '=', projectId).execute()
  for (const table of ['build_contexts', 'build_mounts'] as const)
    await changes.updateTable(table).set({ used_at: 0 }).where('project_id', '=', projectId).execute()
}
