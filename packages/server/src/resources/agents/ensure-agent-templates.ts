import { makeId } from '@holt/protocol'
import { defaultTag } from '../../foundation/rows/template-name.ts'
import type { Resources } from '../resources.ts'

/**
 * Creates a row for each agent template that has none. Existing rows stay, except for the size of
 * an unbuilt template. Writes nothing if nothing changes, because a start has to succeed on a full
 * disk.
 */
export async function ensureAgentTemplates({ store, now, agents }: Resources, projectId: string): Promise<void> {
  const at = now()
  const known = await store.db
    .selectFrom('templates')
    .select(['name', 'state', 'cpu', 'memory_mib', 'disk_mib'])
    .where('project_id', '=', projectId)
    .where('tag', '=', defaultTag)
    .execute()
  for (const { name, cpu, memoryMiB, diskMiB } of agents.all()) {
    const size = { cpu, memory_mib: memoryMiB, disk_mib: diskMiB }
    const row = known.find((one) => one.name === name)
    if (row !== undefined && (row.state !== 'unbuilt' || isSame(row, size))) continue
    await store.db
      .insertInto('templates')
      .values({
        template_id: makeId('template'),
        project_id: projectId,
        name,
        tag: defaultTag,
        kind: 'agent',
        state: 'unbuilt',
        source: 'a Dockerfile of Holt',
        ...size,
        env_json: '{}',
        user: 'user',
        workdir: '/workspace',
        facts_json: '{}',
        created_at: at,
        updated_at: at,
        revision: 1,
      })
      .onConflict((conflict) =>
        conflict
          .columns(['project_id', 'name', 'tag'])
          .doUpdateSet(({ ref, eb }) => ({ ...size, updated_at: at, revision: eb(ref('templates.revision'), '+', 1) }))
          .where(({ eb, and, or }) =>
            and([
              eb('templates.kind', '=', 'agent'),
              eb('templates.state', '=', 'unbuilt'),
              or([
                eb('templates.cpu', '!=', cpu),
                eb('templates.memory_mib', '!=', memoryMiB),
                eb('templates.disk_mib', '!=', diskMiB),
              ]),
            ]),
          ),
      )
      .execute()
  }
}

type Size = Readonly<Record<'cpu' | 'memory_mib' | 'disk_mib', number>>

function isSame(a: Size, b: Size): boolean {
  return a.cpu === b.cpu && a.memory_mib === b.memory_mib && a.disk_mib === b.disk_mib
}
