import type { TemplateBase } from '@holt/builder'
import type { SyntheticAddress } from '@holt/egress'
import type { SourceSettings } from '../runtimes/source-settings.ts'
import type { SnapshotRow } from '../store/tables.ts'

/**
 * What is kept with a snapshot for the runtimes and builds that begin with it. The values of
 * secrets are not among it.
 */
export interface SnapshotSettings extends SourceSettings {
  readonly user: string
  readonly workdir: string
  /** What a build on top of its files begins with. */
  readonly build: TemplateBase['settings']
  /** Placeholders, by the secret's id. */
  readonly placeholders: Readonly<Record<string, string>>
  readonly addresses: readonly SyntheticAddress[]
  /**
   * The certificate of the authority that its programs trust; its key is sealed under the
   * snapshot's id.
   */
  readonly caCertificate: string | null
}

/** What is kept with a snapshot that is ready. */
export function snapshotSettingsOf({ settings_json }: Pick<SnapshotRow, 'settings_json'>): SnapshotSettings {
  return JSON.parse(settings_json)
}
