import type { TemplateBase } from '@holt/builder'
import { readableBy } from '../../foundation/rows/system-project.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import type { FormerNetwork } from '../../resources/network/former-network.ts'
import type { Runtimes } from '../runtimes.ts'
import { sourceSettingsOf } from '../state/source-settings.ts'
import { type SnapshotSettings, snapshotSettingsOf } from './snapshot-settings.ts'

/**
 * Returns the settings of a snapshot of a runtime. `former` has the facts of its network that its
 * programs know.
 */
export async function captureSettings(
  service: Runtimes,
  row: RuntimeRow,
  { ca, placeholders, addresses }: FormerNetwork,
): Promise<SnapshotSettings> {
  const { env, commands } = sourceSettingsOf(row)
  const own = JSON.parse(row.env_json) as Record<string, string>
  const build = await buildSettings(service, row, env)
  return {
    env: { ...env, ...own },
    user: row.user,
    workdir: row.workdir,
    commands,
    build: { ...build, env: { ...build.env, ...own } },
    placeholders,
    addresses,
    caCertificate: ca?.certificatePem ?? null,
  }
}

/**
 * Returns the initial settings of a build on the runtime's source. If the source was deleted or
 * replaced, they come from the runtime.
 */
async function buildSettings(
  { store }: Runtimes,
  row: RuntimeRow,
  env: Readonly<Record<string, string>>,
): Promise<TemplateBase['settings']> {
  const snapshot =
    row.snapshot_id === null
      ? undefined
      : await store.db
          .selectFrom('snapshots')
          .select('settings_json')
          .where('project_id', '=', row.project_id)
          .where('snapshot_id', '=', row.snapshot_id)
          .executeTakeFirst()
  if (snapshot !== undefined) return snapshotSettingsOf(snapshot).build
  const template = await store.db
    .selectFrom('templates')
    .select('build_settings_json')
    .where('project_id', 'in', readableBy(row.project_id))
    .where('template_id', '=', row.template_id)
    .where('image_digest', '=', row.origin_image_digest ?? row.image_digest)
    .executeTakeFirst()
  if (template?.build_settings_json != null) return JSON.parse(template.build_settings_json)
  const { user, workdir } = row
  return { env, user, workdir, shell: ['/bin/sh', '-c'], labels: {}, ports: [], onBuild: [] }
}
